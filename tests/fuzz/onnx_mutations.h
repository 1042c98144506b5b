// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/rng.h"

#include <onnx/onnx_pb.h>

#include <string>

namespace kasimir::test {

/// Changes a model in one place: a node's operator, inputs, outputs or attributes, a tensor's shape, type or values,
/// the image, the order of nodes; or puts in a node. What comes out is a message of the schema, seldom a network.
void mutate(onnx::ModelProto& model, Rng& random);

/// Changes bytes of a file, or cuts it off.
void mutate(std::string& bytes, Rng& random);

}  // namespace kasimir::test
