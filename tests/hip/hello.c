// Says what it is called and what it is given, and ends with status 7.
#include <stdio.h>
int main(int argc, char **argv) {
    printf("%s:", argv[0]);
    for (int i = 1; i < argc; i++) printf(" %s", argv[i]);
    puts("");
    return 7;
}
