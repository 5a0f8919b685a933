// The same as in affine.py.
#define SCALE 2.0f
