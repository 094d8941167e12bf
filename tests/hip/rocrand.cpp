// Numbers of rocRAND's generators, written to files for Python to judge.
#include <rocrand/rocrand.h>

#include <string>

#include "files.h"

int main() {
    const int n = 4096;
    unsigned *words = zeros<unsigned>(2 * n);
    float *floats = (float *)words;
    double *doubles = (double *)words;
    const struct {
        const char *name;
        rocrand_rng_type type;
        bool random;
    } kinds[] = {{"xorwow", ROCRAND_RNG_PSEUDO_XORWOW, true},
                 {"mrg32k3a", ROCRAND_RNG_PSEUDO_MRG32K3A, true},
                 {"philox", ROCRAND_RNG_PSEUDO_PHILOX4_32_10, true},
                 {"sobol", ROCRAND_RNG_QUASI_SOBOL32, false}};
    for (const auto &kind : kinds) {
        rocrand_generator generator;
        MUST(rocrand_create_generator(&generator, kind.type));
        if (kind.random) MUST(rocrand_set_seed(generator, 12345));
        auto name = [&](const char *what) { return std::string(kind.name) + "-" + what; };
        MUST(rocrand_generate(generator, words, n));
        write_from_device(name("words").c_str(), words, n);
        MUST(rocrand_generate_uniform(generator, floats, n));
        write_from_device(name("uniform").c_str(), floats, n);
        MUST(rocrand_generate_normal(generator, floats, n, 1.0f, 2.0f));
        write_from_device(name("normal").c_str(), floats, n);
        MUST(rocrand_generate_uniform_double(generator, doubles, n));
        write_from_device(name("uniform64").c_str(), doubles, n);
        MUST(rocrand_generate_log_normal(generator, floats, n, 0.0f, 0.5f));
        write_from_device(name("lognormal").c_str(), floats, n);
        if (kind.random) {
            MUST(rocrand_generate_poisson(generator, words, n, 7.0));
            write_from_device(name("poisson").c_str(), words, n);
        }
        MUST(rocrand_destroy_generator(generator));
    }
    puts("passed");
}
