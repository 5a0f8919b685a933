// FLT_RADIX is in the compiler's own float.h.
#include "float.h"

#define STEP (FLT_RADIX / 2.0f)
