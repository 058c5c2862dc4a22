/* dormant is linked with an OpenMP runtime and does not call it before its standard input ends. */
#include <unistd.h>

int omp_get_max_threads(void);

int main(void) {
    char c;
    alarm(3600);
    if (write(1, "ready\n", 6) != 6) return 1;
    while (read(0, &c, 1) > 0) {}
    return omp_get_max_threads() < 1;
}
