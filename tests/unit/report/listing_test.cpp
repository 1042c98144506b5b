// SPDX-License-Identifier: Apache-2.0
#include "kasimir/report/listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_up_study.h"

#include "kasimir/study/scores.h"

namespace kasimir::report {
namespace {

using ::testing::HasSubstr;

TEST(StudyTable, ShowsTheOriginalFirstThenByRungAndAccuracy) {
  MadeUpStudy study("table");
  fill_small(study);
  EXPECT_EQ(study_table(study.store()).str(),
            R"(trial  kernel      state     rung   accuracy  spread  latency  ratio  MACs  ratio  params  ratio  reason
                                           %       %       ms
    0  original    complete  full       91.0     1.4     2.50   1.00   10M   1.00     80k   1.00
    1  bottleneck  complete  full       90.0     0.7     1.25   0.50    5M   0.50     40k   0.50
    2  pointwise   complete  full       81.0     1.4     3.00   1.20    4M   0.40     30k   0.38
    3  unread      stopped   quick      50.0                            6M   0.60     50k   0.62  not among the best 2 of 3 on rung quick
    4  broken      failed                                               6M   0.60     50k   0.62  the loss was <script>alert('x')</script> "nan", after epoch...
)");
}

TEST(StudyTable, ShowsCyclesAndEnergyWhereAStudyIsForAnAccelerator) {
  MadeUpStudy study("accelerator");
  study.propose("", {500, 50}, {700, 70, study::AcceleratorCost{1000, 20, 2e4}});
  study.propose(bottleneck_text, {100, 10}, {300, 30, study::AcceleratorCost{250, 5, 1250}});
  const std::string table = study_table(study.store()).str();
  EXPECT_THAT(table, HasSubstr("cycles  ratio  energy  ratio  reason"));
  EXPECT_THAT(table, HasSubstr(" 1,000   1.00    20.0   1.00"));
  EXPECT_THAT(table, HasSubstr("   250   0.25    5.00   0.25"));
  EXPECT_THAT(study_json(study.store()), HasSubstr(R"("accelerator_cycles":250.0,"accelerator_energy_uj":5.0)"));
  EXPECT_THAT(study_csv(study.store()), HasSubstr("params,accelerator_cycles,accelerator_energy_uj,reason"));
}

TEST(RejectionTable, CountsRules) {
  MadeUpStudy study("rules");
  fill_small(study);
  EXPECT_EQ(rejection_table(study.store()).str(),
            "trials  state     rule                               nearest miss\n"
            "     2  rejected  every output sees a neighbourhood  it sees 1 x 1\n"
            "     1  failed    diverged                           the loss was <script>alert('x')</script> \"nan\", "
            "after epoch...\n");
}

TEST(StudyJson, IsOneObjectPerTrialAndLine) {
  MadeUpStudy study("json");
  fill_small(study);
  EXPECT_EQ(
      study_json(study.store()),
      R"json({"number":0,"state":"complete","rung":"full","kernel":"","accuracy":0.91,"accuracy_spread":0.014142135623730963,"test_accuracy":0.91,"latency_ms":2.5,"latency_ratio":1.0,"macs":10000000,"params":80000,"reason":""}
{"number":1,"state":"complete","rung":"full","kernel":"kernel bottleneck\ngiven g=4\n  a = linear(x, to=x0)\n  b = conv(a, to=Co, groups=g, stride=yes)\nreturn b\nat Ci=16 Co=16 H=32 W=32 s=1: x0=8\nat Ci=16 Co=32 H=16 W=16 s=2: x0=12\n","accuracy":0.9,"accuracy_spread":0.007071067811865481,"test_accuracy":0.89,"latency_ms":1.25,"latency_ratio":0.5,"macs":5000000,"params":40000,"reason":""}
{"number":2,"state":"complete","rung":"full","kernel":"kernel pointwise\n  a = stride(x)\n  b = linear(a, to=Co)\nreturn b\n","accuracy":0.81,"accuracy_spread":0.014142135623730885,"test_accuracy":0.8,"latency_ms":3.0,"latency_ratio":1.2,"macs":4000000,"params":30000,"reason":""}
{"number":3,"state":"stopped","rung":"quick","kernel":"kernel unread\n  a = no_such_primitive(x)\nreturn a\n","accuracy":0.5,"accuracy_spread":null,"test_accuracy":null,"latency_ms":null,"latency_ratio":null,"macs":6000000,"params":50000,"reason":"not among the best 2 of 3 on rung quick"}
{"number":4,"state":"failed","rung":null,"kernel":"kernel broken\n  a = conv(x, to=Co, stride=yes)\nreturn a\n","accuracy":null,"accuracy_spread":null,"test_accuracy":null,"latency_ms":null,"latency_ratio":null,"macs":6000000,"params":50000,"reason":"the loss was <script>alert('x')</script> \"nan\", after epoch 1"}
{"number":5,"state":"rejected","rung":null,"kernel":"","accuracy":null,"accuracy_spread":null,"test_accuracy":null,"latency_ms":null,"latency_ratio":null,"macs":null,"params":null,"reason":"it sees 1 x 1"}
{"number":6,"state":"rejected","rung":null,"kernel":"","accuracy":null,"accuracy_spread":null,"test_accuracy":null,"latency_ms":null,"latency_ratio":null,"macs":null,"params":null,"reason":"it sees 1 x 1, twice"}
)json");
}

TEST(StudyJson, ReplacesBytesThatAreNotUtf8) {
  MadeUpStudy study("bytes");
  study.reject("a rule", "a reason with \xff");
  EXPECT_THAT(study_json(study.store()), HasSubstr("\"reason\":\"a reason with \uFFFD\""));
}

TEST(StudyCsv, QuotesWhatHoldsSeparators) {
  MadeUpStudy study("csv");
  fill_small(study);
  EXPECT_EQ(
      study_csv(study.store()),
      R"csv(number,state,rung,kernel,accuracy,accuracy_spread,test_accuracy,latency_ms,latency_ratio,macs,params,reason
0,complete,full,,0.91,0.014142135623730963,0.91,2.5,1.0,10000000,80000,
1,complete,full,"kernel bottleneck
given g=4
  a = linear(x, to=x0)
  b = conv(a, to=Co, groups=g, stride=yes)
return b
at Ci=16 Co=16 H=32 W=32 s=1: x0=8
at Ci=16 Co=32 H=16 W=16 s=2: x0=12
",0.9,0.007071067811865481,0.89,1.25,0.5,5000000,40000,
2,complete,full,"kernel pointwise
  a = stride(x)
  b = linear(a, to=Co)
return b
",0.81,0.014142135623730885,0.8,3.0,1.2,4000000,30000,
3,stopped,quick,"kernel unread
  a = no_such_primitive(x)
return a
",0.5,,,,,6000000,50000,not among the best 2 of 3 on rung quick
4,failed,,"kernel broken
  a = conv(x, to=Co, stride=yes)
return a
",,,,,,6000000,50000,"the loss was <script>alert('x')</script> ""nan"", after epoch 1"
5,rejected,,,,,,,,,,it sees 1 x 1
6,rejected,,,,,,,,,,"it sees 1 x 1, twice"
)csv");
}

TEST(Listings, HaveAColumnForEachScore) {
  MadeUpStudy study("scores");
  study.propose("", {10, 10}, {100, 100});
  study::JobResult original = accuracy(0.7);
  study::add_scores(original.extra, {{"zen", 12.345678, "", 0.5}, {"naswot", {}, "score: x (y)", 0.25}});
  study.finish_quick(original);
  study.propose(bottleneck_text, {5, 5}, {50, 50});
  study.finish_quick(accuracy(0.6));
  EXPECT_EQ(study_csv(study.store()).substr(0, 240),
            "number,state,rung,kernel,accuracy,accuracy_spread,test_accuracy,latency_ms,latency_ratio,macs,params,"
            "score_zen,score_zen_s,score_naswot,score_naswot_s,reason\n"
            "0,running,quick,,0.7,,,,,100,100,12.345678,0.5,,0.25,\n1,running,quick,\"kernel bott");
  EXPECT_THAT(
      study_json(study.store()),
      HasSubstr(R"("params":100,"score_zen":12.345678,"score_zen_s":0.5,"score_naswot":null,"score_naswot_s":0.25,)"));
  EXPECT_THAT(study_json(study.store()),
              HasSubstr(R"("params":50,"score_zen":null,"score_zen_s":null,"score_naswot":null,)"));
  EXPECT_EQ(
      study_table(study.store()).str(),
      R"(trial  kernel      state    rung   accuracy  spread  latency  ratio  MACs  ratio  params  ratio    zen  naswot  reason
                                          %       %       ms
    0  original    running  quick      70.0                           100   1.00     100   1.00  12.35    none
    1  bottleneck  running  quick      60.0                            50   0.50      50   0.50
)");
}

TEST(Listings, OfAnEmptyStudyHaveOnlyTheirHeaders) {
  MadeUpStudy study("none");
  EXPECT_EQ(study_json(study.store()), "");
  EXPECT_EQ(
      study_csv(study.store()),
      "number,state,rung,kernel,accuracy,accuracy_spread,test_accuracy,latency_ms,latency_ratio,macs,params,reason\n");
  EXPECT_EQ(study_table(study.store()).str(),
            "trial  kernel  state  rung  accuracy  spread  latency  ratio  MACs  ratio  params  ratio  reason\n"
            "                                   %       %       ms\n");
}

}  // namespace
}  // namespace kasimir::report
