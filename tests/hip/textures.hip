// Textures that are sampled, by HIP's objects, held to the formulas of HIP's page on texture fetching.
#include "check.h"

#include <cmath>


enum Shape { Line, Plane, Volume, Lines, Planes };

template <Shape shape> __global__ void fetch(hipTextureObject_t texture, const float4 *at, float *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float4 p = at[i];
#if !__HIP_NO_IMAGE_SUPPORT  // CDNA3 has no images.
    if (shape == Line) out[i] = tex1D<float>(texture, p.x);
    if (shape == Plane) out[i] = tex2D<float>(texture, p.x, p.y);
    if (shape == Volume) out[i] = tex3D<float>(texture, p.x, p.y, p.z);
    if (shape == Lines) out[i] = tex1DLayered<float>(texture, p.x, (int)p.w);
    if (shape == Planes) out[i] = tex2DLayered<float>(texture, p.x, p.y, (int)p.w);
#endif
}

// The texels that a coordinate asks for, and how much of each; coordinates have eight bits of fraction.
struct Part {
    int texel;
    double weight;
};

static std::vector<Part> parts(double x, int size, hipTextureAddressMode mode, bool linear, bool normalised) {
    double at = std::nearbyint(x * (normalised ? size : 1) * 256) / 256;
    auto texel = [&](double i) {
        int k = (int)i;
        if (mode == hipAddressModeClamp) return k < 0 ? 0 : k >= size ? size - 1 : k;
        if (mode == hipAddressModeBorder) return k < 0 || k >= size ? -1 : k;
        if (mode == hipAddressModeWrap) return ((k % size) + size) % size;
        k = ((k % (2 * size)) + 2 * size) % (2 * size);
        return k < size ? k : 2 * size - 1 - k;
    };
    if (!linear) return {{texel(std::floor(at)), 1}};
    double first = std::floor(at - 0.5), part = at - 0.5 - first;
    return {{texel(first), 1 - part}, {texel(first + 1), part}};
}

static const int W = 13, H = 7, D = 5;

static void held(Shape shape, bool bytes, bool pitched = false) {
    const int height = shape == Line || shape == Lines ? 0 : H, depth = shape == Volume || shape == Lines || shape == Planes ? D : 0;
    const bool layered = shape == Lines || shape == Planes;
    const int rows = height ? height : 1, slices = depth ? depth : 1;
    std::vector<float> value(W * rows * slices);
    std::vector<unsigned char> raw(value.size());
    for (size_t i = 0; i < value.size(); i++) {
        raw[i] = (unsigned char)(i * 37 + (i >> 3));
        value[i] = bytes ? (float)(raw[i] / 255.0) : raw[i] * 0.5f - 40;
    }
    hipChannelFormatDesc format = bytes ? hipCreateChannelDesc<unsigned char>() : hipCreateChannelDesc<float>();
    const size_t size = bytes ? 1 : 4;
    hipArray_t array = nullptr;
    void *memory = nullptr;
    size_t pitch = 0;
    if (pitched) {
        HIP(hipMallocPitch(&memory, &pitch, W * size, rows));
        HIP(hipMemcpy2D(memory, pitch, bytes ? (void *)raw.data() : (void *)value.data(), W * size, W * size, rows, hipMemcpyHostToDevice));
    } else if (depth) {
        HIP(hipMalloc3DArray(&array, &format, make_hipExtent(W, height, depth), layered ? hipArrayLayered : hipArrayDefault));
        hipMemcpy3DParms to = {};
        to.srcPtr = make_hipPitchedPtr(bytes ? (void *)raw.data() : (void *)value.data(), W * size, W, rows);
        to.dstArray = array;
        to.extent = make_hipExtent(W, rows, depth);
        to.kind = hipMemcpyHostToDevice;
        HIP(hipMemcpy3D(&to));
    } else {
        HIP(hipMallocArray(&array, &format, W, height, hipArrayDefault));
        HIP(hipMemcpy2DToArray(array, 0, 0, bytes ? (void *)raw.data() : (void *)value.data(), W * size, W * size, rows,
                               hipMemcpyHostToDevice));
    }
    float4 *at;
    float *out;
    HIP(hipMallocManaged(&at, 512 * sizeof(float4)));
    HIP(hipMallocManaged(&out, 512 * sizeof(float)));
    for (int mode = 0; mode < 4; mode++)
        for (int linear = 0; linear < 2; linear++)
            for (int normalised = 0; normalised < 2; normalised++) {
                if (!normalised && (mode == hipAddressModeWrap || mode == hipAddressModeMirror)) continue;
                hipResourceDesc resource = {};
                resource.resType = pitched ? hipResourceTypePitch2D : hipResourceTypeArray;
                if (pitched) {
                    resource.res.pitch2D.devPtr = memory;
                    resource.res.pitch2D.desc = format;
                    resource.res.pitch2D.width = W;
                    resource.res.pitch2D.height = rows;
                    resource.res.pitch2D.pitchInBytes = pitch;
                } else {
                    resource.res.array.array = array;
                }
                hipTextureDesc how = {};
                for (auto &one : how.addressMode) one = (hipTextureAddressMode)mode;
                how.filterMode = linear ? hipFilterModeLinear : hipFilterModePoint;
                how.readMode = bytes ? hipReadModeNormalizedFloat : hipReadModeElementType;
                how.normalizedCoords = normalised;
                hipTextureObject_t texture;
                HIP(hipCreateTextureObject(&texture, &resource, &how, nullptr));
                for (int i = 0; i < 512; i++) {
                    // From -0.5 to 1.5 sizes, in steps of an eighth of a texel with a little off it.
                    auto place = [&](int n, int k) {
                        double texels = (k * 5 % (16 * n)) / 8.0 - n / 2.0 + (k % 3) / 64.0;
                        return (float)(normalised ? texels / n : texels);
                    };
                    at[i] = make_float4(place(W, i), place(rows, i * 7 + 3), place(slices, i * 11 + 5), (float)(i % slices));
                }
                auto run = shape == Line ? fetch<Line> : shape == Plane ? fetch<Plane> : shape == Volume ? fetch<Volume> : shape == Lines ? fetch<Lines> : fetch<Planes>;
                run<<<8, 64>>>(texture, at, out, 512);
                HIP(hipGetLastError());
                HIP(hipDeviceSynchronize());
                for (int i = 0; i < 512; i++) {
                    auto m = (hipTextureAddressMode)mode;
                    std::vector<Part> one = {{0, 1}};
                    auto x = parts(at[i].x, W, m, linear, normalised);
                    auto y = height ? parts(at[i].y, rows, m, linear, normalised) : one;
                    auto z = shape == Volume ? parts(at[i].z, slices, m, linear, normalised) : one;
                    if (layered) z = {{(int)at[i].w, 1}};
                    double sum = 0;
                    for (Part c : z)
                        for (Part b : y)
                            for (Part a : x)
                                if (a.texel >= 0 && b.texel >= 0 && c.texel >= 0)
                                    sum += a.weight * b.weight * c.weight * value[(c.texel * rows + b.texel) * W + a.texel];
                    if (!(std::fabs(out[i] - sum) <= (linear ? 1e-5 : 0))) {
                        fprintf(stderr, "shape %d mode %d linear %d normalised %d: at %g %g %g %g is %g and not %g\n", shape, mode,
                                linear, normalised, at[i].x, at[i].y, at[i].z, at[i].w, out[i], sum);
                        exit(1);
                    }
                }
                HIP(hipDestroyTextureObject(texture));
            }
    HIP(hipFree(at));
    HIP(hipFree(out));
    HIP(pitched ? hipFree(memory) : hipFreeArray(array));
}

static void line() { held(Line, false), held(Line, true); }
static void plane() { held(Plane, false), held(Plane, true); }
static void volume() { held(Volume, false), held(Volume, true); }
static void lines() { held(Lines, false); }
static void planes() { held(Planes, false), held(Planes, true); }

static void in_memory() { held(Plane, false, true), held(Plane, true, true); }

CASES({"in_memory", in_memory}, {"line", line}, {"plane", plane}, {"volume", volume}, {"lines", lines}, {"planes", planes})
