// A library that says when a process ends its libraries: preloaded, it comes before HIP.
#include <stdio.h>
__attribute__((destructor)) static void ends() {
    puts("libraries end");
    fflush(stdout);
}
