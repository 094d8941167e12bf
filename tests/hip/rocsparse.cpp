// What rocSPARSE makes of a CSR matrix, a sparse vector, a vector and a dense matrix that Python has written to files.
#include <rocsparse/rocsparse.h>

#include "files.h"

int main() {
    rocsparse_handle h;
    MUST(rocsparse_create_handle(&h));
    auto row = read_file<int>("row"), col = read_file<int>("col"), index = read_file<int>("index");
    auto value = read_file<double>("value"), x = read_file<double>("x"), sparse = read_file<double>("sparse");
    auto many = read_file<double>("many");
    const int m = row.size() - 1, nnz = value.size(), count = index.size(), columns = many.size() / m;
    int *drow = to_device(row), *dcol = to_device(col), *dindex = to_device(index);
    double *dvalue = to_device(value), *dx = to_device(x), *dsparse = to_device(sparse), *dmany = to_device(many);
    const double zero = 0, half = 0.5, one = 1, two = 2;
    const rocsparse_operation as_is = rocsparse_operation_none;
    const rocsparse_index_base base = rocsparse_index_base_zero;
    rocsparse_mat_descr a, lower;
    rocsparse_mat_info info;
    MUST(rocsparse_create_mat_descr(&a));
    MUST(rocsparse_create_mat_info(&info));

    double *y = to_device(x);
    MUST(rocsparse_daxpyi(h, count, &two, dsparse, dindex, y, base));
    write_from_device("axpyi", y, m);
    double dot;
    MUST(rocsparse_ddoti(h, count, dsparse, dindex, dx, &dot, base));
    MUST(hipDeviceSynchronize());
    write_file("doti", std::vector<double>{dot});
    double *gathered = zeros<double>(count);
    MUST(rocsparse_dgthr(h, count, dx, gathered, dindex, base));
    write_from_device("gthr", gathered, count);
    y = to_device(x);
    MUST(rocsparse_dsctr(h, count, dsparse, dindex, y, base));
    write_from_device("sctr", y, m);

    y = to_device(x);
    MUST(rocsparse_dcsrmv(h, as_is, m, m, nnz, &two, a, dvalue, drow, dcol, nullptr, dx, &half, y));
    write_from_device("csrmv", y, m);
    MUST(rocsparse_dcsrmv_analysis(h, as_is, m, m, nnz, a, dvalue, drow, dcol, info));
    y = to_device(x);
    MUST(rocsparse_dcsrmv(h, as_is, m, m, nnz, &two, a, dvalue, drow, dcol, info, dx, &half, y));
    write_from_device("csrmv_adaptive", y, m);
    double *product = zeros<double>(m * columns);
    MUST(rocsparse_dcsrmm(h, as_is, as_is, m, columns, m, nnz, &one, a, dvalue, drow, dcol, dmany, m, &zero, product, m));
    write_from_device("csrmm", product, m * columns);

    int *coo = zeros<int>(nnz), *back = zeros<int>(m + 1);
    MUST(rocsparse_csr2coo(h, drow, nnz, m, coo, base));
    write_from_device("csr2coo", coo, nnz);
    MUST(rocsparse_coo2csr(h, coo, nnz, m, back, base));
    write_from_device("coo2csr", back, m + 1);
    y = to_device(x);
    MUST(rocsparse_dcoomv(h, as_is, m, m, nnz, &one, a, dvalue, coo, dcol, dx, &zero, y));
    write_from_device("coomv", y, m);

    size_t size;
    const rocsparse_action numbers = rocsparse_action_numeric;
    MUST(rocsparse_csr2csc_buffer_size(h, m, m, nnz, drow, dcol, numbers, &size));
    double *csc_value = zeros<double>(nnz);
    int *csc_row = zeros<int>(nnz), *csc_column = zeros<int>(m + 1);
    MUST(rocsparse_dcsr2csc(h, m, m, nnz, dvalue, drow, dcol, csc_value, csc_row, csc_column, numbers, base,
                            zeros<char>(size)));
    write_from_device("csc_value", csc_value, nnz);
    write_from_device("csc_row", csc_row, nnz);
    write_from_device("csc_column", csc_column, m + 1);
    double *dense = zeros<double>(m * m);
    MUST(rocsparse_dcsr2dense(h, m, m, a, dvalue, drow, dcol, dense, m));
    write_from_device("dense", dense, m * m);

    // The lower triangle, solved.
    MUST(rocsparse_create_mat_descr(&lower));
    MUST(rocsparse_set_mat_fill_mode(lower, rocsparse_fill_mode_lower));
    MUST(rocsparse_dcsrsv_buffer_size(h, as_is, m, nnz, lower, dvalue, drow, dcol, info, &size));
    char *buffer = zeros<char>(size);
    MUST(rocsparse_dcsrsv_analysis(h, as_is, m, nnz, lower, dvalue, drow, dcol, info, rocsparse_analysis_policy_force,
                                   rocsparse_solve_policy_auto, buffer));
    double *solution = zeros<double>(m);
    MUST(rocsparse_dcsrsv_solve(h, as_is, m, nnz, &one, lower, dvalue, drow, dcol, info, dx, solution,
                                rocsparse_solve_policy_auto, buffer));
    write_from_device("csrsv", solution, m);
    puts("passed");
}
