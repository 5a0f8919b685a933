// What affine.cpp needs of one number.
#pragma once
#include "affine_constants.h"

inline float scaled(float value) { return SCALE * value; }
