// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/study/query.h"

#include <string>
#include <utility>
#include <vector>

namespace kasimir::study {

/// The trials that `tail` ("where ..", "order by ..") selects.
template <typename... Values>
std::vector<Trial> select_trials(Database& database, const std::string& tail, const Values&... values) {
  Trial t;
  Query query(database,
              "select number, state, kernel, hash, origin, replaced_macs, replaced_params, network_macs, "
              "network_params, budget_use, rule, reason, created from trials " +
                  tail);
  query.in(values...);
  query.out(t.number, t.state, t.kernel, t.hash, t.origin, t.replaced.macs, t.replaced.params, t.network.macs,
            t.network.params, t.budget_use, t.rule, t.reason, t.created);
  std::vector<Trial> rows;
  while (query.next()) {
    t.network.accelerator = accelerator_in(t.budget_use);
    rows.push_back(std::exchange(t, {}));
  }
  return rows;
}

/// The jobs that `tail` selects.
template <typename... Values>
std::vector<Job> select_jobs(Database& database, const std::string& tail, const Values&... values) {
  Job j;
  Query query(database,
              "select id, trial, rung, seed, state, worker, fence, lease_until, attempts, lost, started, finished, "
              "accuracy, test_accuracy, loss, latency_ms, result, reason from jobs " +
                  tail);
  query.in(values...);
  query.out(j.id, j.trial, j.rung, j.seed, j.state, j.worker, j.fence, j.lease_until, j.attempts, j.lost, j.started,
            j.finished, j.accuracy, j.test_accuracy, j.loss, j.latency_ms, j.result, j.reason);
  std::vector<Job> rows;
  while (query.next()) rows.push_back(std::exchange(j, {}));
  return rows;
}

}  // namespace kasimir::study
