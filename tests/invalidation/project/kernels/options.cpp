#include "golden_tasks.h"

#ifndef BIAS
#define BIAS 1
#endif

void options(gt::Tensor<const int, 1> x, gt::Tensor<int, 1> y) {
    for (int i = 0; i < y.shape[0]; ++i) y(i) = GAIN * x(i) + BIAS;
}

void options_backwards(gt::Tensor<const int, 1> x, gt::Tensor<int, 1> y) {
    for (int i = y.shape[0]; i-- > 0;) y(i) = GAIN * x(i) + BIAS;
}
