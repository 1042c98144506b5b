// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/zoo.h"

/// The records of the zoo, each in the file of its family. A new network is a record there, a line here and a word in
/// catalog.cpp.
namespace kasimir::zoo_records {

extern const ZooRecord resnet8;
extern const ZooRecord resnet20;
extern const ZooRecord resnet18;
extern const ZooRecord vgg16;
extern const ZooRecord mobilenet_v2;
extern const ZooRecord densenet121;

}  // namespace kasimir::zoo_records
