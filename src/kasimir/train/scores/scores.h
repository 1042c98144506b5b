// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/train/scores/score_input.h"

namespace kasimir {

/// The sum, over all weights, of the Euclidean norm of the gradient of the loss on the batch.
Outcome<double> grad_norm(const ScoreInput& input);
/// The logarithm of the flow: the sum of |w| * dR/d|w| where R is the sum of the outputs for an image of ones, through
/// a network of absolute weights without norms, biases and offsets.
Outcome<double> synflow(const ScoreInput& input);
/// The logarithm of the determinant of the matrix that counts, for each pair of images, the units that are on for both
/// or off for both. Units are the inputs of the network's own activations, in training mode; those inside of kernels
/// are not counted, so that all candidates have the same number.
Outcome<double> naswot(const ScoreInput& input);
/// The logarithm of how far the last feature map moves, in the mean over Gaussian weights and images, when a hundredth
/// of another Gaussian image is added; without residual links; with the scale that norms took away put back.
Outcome<double> zen(const ScoreInput& input);

}  // namespace kasimir
