// Nobody includes this.
#define UNUSED 1
