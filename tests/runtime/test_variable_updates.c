/* SPDX-License-Identifier: Apache-2.0 */
/* Scatters, gathers and optimizers on variables, against slow references. */
#include "core/value/dtype.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static program p;

static void begin(void)
{
    program_init_session(&p);
}

static void end(void)
{
    program_deinit(&p);
}

static void refuse(const char *what, eddy_status code, eddy_detail detail)
{
    program_want(&p, program_try_fetches(&p, what), code, detail);
}

/*
 * Compares fetch 0 of `what`, of float64 or float32, within `tolerance`: of the
 * value, or of 1 where that is more, since what is near 0 is a difference.
 */
static void want(const char *what, size_t n, const double *values,
                 double tolerance)
{
    const eddy_tensor *t;

    program_run_fetches(&p, what);
    t = eddy_run_fetch(p.run, 0);
    ck_assert_int_eq(eddy_tensor_count(t), (int64_t)n);
    for (size_t i = 0; i < n; i++) {
        const void *data = eddy_tensor_data(t);
        const double got = eddy_tensor_dtype(t) == EDDY_FLOAT64
                               ? ((const double *)data)[i]
                               : (double)((const float *)data)[i];

        ck_assert_msg(fabs(got - values[i]) <=
                          tolerance * fmax(1, fabs(values[i])),
                      "%s: element %zu is %g, not %g", what, i, got, values[i]);
    }
}

#define WANT(what, ...)                                                        \
    want((what), sizeof((const double[]){__VA_ARGS__}) / sizeof(double),       \
         (const double[]){__VA_ARGS__}, 0)

static const eddy_dtype numbers[] = {
    EDDY_FLOAT16, EDDY_FLOAT32,   EDDY_FLOAT64,  EDDY_INT8,      EDDY_INT16,
    EDDY_INT32,   EDDY_INT64,     EDDY_UINT8,    EDDY_UINT16,    EDDY_UINT32,
    EDDY_UINT64,  EDDY_COMPLEX64, EDDY_BFLOAT16, EDDY_COMPLEX128};

#define N_NUMBERS (sizeof numbers / sizeof numbers[0])

/* ---- scatters ---- */

#define ROWS 4
#define COLUMNS 3
#define UPDATES 5

static const int32_t at[UPDATES] = {0, 2, 2, 3, 0};

/* As much of `value` as the dtype holds. */
static double wrap(eddy_dtype dtype, double value)
{
    const int64_t whole = (int64_t)value;

    switch (dtype) {
    case EDDY_INT8:
        return (int8_t)(uint8_t)(uint64_t)whole;
    case EDDY_UINT8:
        return (uint8_t)(uint64_t)whole;
    case EDDY_INT16:
        return (int16_t)(uint16_t)(uint64_t)whole;
    case EDDY_UINT16:
        return (uint16_t)(uint64_t)whole;
    case EDDY_INT32:
    case EDDY_INT64:
    case EDDY_UINT32:
    case EDDY_UINT64:
        return (double)whole;
    default:
        return value;
    }
}

typedef enum combination { UPDATE, ADD, SUB, MUL, DIV, MIN, MAX, N_OPS } op;

static const char *const names[N_OPS] = {"Update", "Add", "Sub", "Mul",
                                         "Div",    "Min", "Max"};

static double combine(op what, double x, double y)
{
    switch (what) {
    case ADD:
        return x + y;
    case SUB:
        return x - y;
    case MUL:
        return x * y;
    case DIV:
        return x / y;
    case MIN:
        return y < x ? y : x;
    case MAX:
        return x < y ? y : x;
    default:
        return y;
    }
}

/* Element `j` of update `i`; powers of two, so that quotients are exact. */
static double update_at(int i, int j)
{
    return (double)(1 << (i + j) % 3);
}

static void expect(op what, eddy_dtype dtype, bool is_scalar, double *out)
{
    for (int i = 0; i < ROWS * COLUMNS; i++)
        out[i] = 20 + i;
    for (int i = 0; i < UPDATES; i++)
        for (int j = 0; j < COLUMNS; j++) {
            double *x = &out[at[i] * COLUMNS + j];

            *x =
                wrap(dtype, combine(what, *x, is_scalar ? 4 : update_at(i, j)));
        }
}

static void print_list(char *out, size_t size, int n, double (*value)(int i))
{
    size_t used = 0;

    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%g",
                                 i > 0 ? "," : "", value(i));
}

static double start_value(int i)
{
    return 20 + i;
}

static double update_value(int i)
{
    return update_at(i / COLUMNS, i % COLUMNS);
}

static void build_scatters(eddy_dtype dtype)
{
    const char *type = eddy_dtype_name(dtype);
    char start[128], updates[128], text[2048];

    print_list(start, sizeof start, ROWS * COLUMNS, start_value);
    print_list(updates, sizeof updates, UPDATES * COLUMNS, update_value);
    snprintf(text, sizeof text,
             "v VarHandleOp dtype=%s shape=? shared_name='v'\n"
             "start_i int32[4,3]=%s\nstart Cast start_i DstT=%s\n"
             "init AssignVariableOp v start\n"
             "rows_i int32[5,3]=%s\nrows Cast rows_i DstT=%s\n"
             "four_i int32=4\nfour Cast four_i DstT=%s\n"
             "at int32[5]=0,2,2,3,0\n"
             "wide Cast at DstT=int64\n"
             "read ReadVariableOp v dtype=%s\n"
             "real Cast read DstT=float64\n",
             type, start, type, updates, type, type, type);
    program_build(&p, text);
    for (int i = 0; i < N_OPS; i++) {
        snprintf(text, sizeof text,
                 "row%d ResourceScatter%s v at rows\n"
                 "one%d ResourceScatter%s v wide four\n",
                 i, names[i], i, names[i]);
        if (!eddy__dtype_is_complex(dtype) || i < MIN)
            program_build(&p, text);
    }
}

START_TEST(scatters_combine_rows_of_every_dtype)
{
    const eddy_dtype dtype = numbers[_i];

    build_scatters(dtype);
    for (int i = 0; i < (eddy__dtype_is_complex(dtype) ? MIN : N_OPS); i++)
        for (int is_scalar = 0; is_scalar < 2; is_scalar++) {
            double values[ROWS * COLUMNS];
            char target[16];

            snprintf(target, sizeof target, "^%s%d", is_scalar ? "one" : "row",
                     i);
            program_run_fetches(&p, "^init");
            program_run_fetches(&p, target);
            expect((op)i, dtype, is_scalar, values);
            want("real", (size_t)ROWS * COLUMNS, values, 0);
        }
}
END_TEST

#define START                                                                  \
    "v VarHandleOp dtype=float32 shape=? shared_name='v'\n"                    \
    "start float32[2,2]=1,2,3,4\n"                                             \
    "init AssignVariableOp v start\n"                                          \
    "read ReadVariableOp v dtype=float32\n"

START_TEST(a_bad_scatter_changes_nothing)
{
    program_build(&p, START
                  "two float32[2]=1,2\n"
                  "four float32[2,2]=1\n"
                  "zero int32[2]=0,2\n"
                  "below int32[2]=1,-1\n"
                  "fine int32[2]=0,1\n"
                  "high ResourceScatterAdd v zero four\n"
                  "low ResourceScatterAdd v below four\n"
                  "shape ResourceScatterAdd v fine two\n"
                  "ints VarHandleOp dtype=int32 shape=? shared_name='i'\n"
                  "start_i int32[2]=5,-7\n"
                  "init_i AssignVariableOp ints start_i\n"
                  "by int32[2]=2,0\n"
                  "halves int32[2]=2,2\n"
                  "div ResourceScatterDiv ints fine by\n"
                  "div_ok ResourceScatterDiv ints fine halves\n"
                  "read_i ReadVariableOp ints dtype=int32\n"
                  "real_i Cast read_i DstT=float64\n"
                  "s VarHandleOp dtype=float32 shape=() shared_name='s'\n"
                  "one float32=1\n"
                  "init_s AssignVariableOp s one\n"
                  "deep ResourceScatterAdd s fine two\n"
                  "words VarHandleOp dtype=string shape=? shared_name='w'\n");
    program_run_fetches(&p, "^init ^init_i ^init_s");
    refuse("^high", EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    refuse("^low", EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    refuse("^shape", EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    refuse("^deep", EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    refuse("^div", EDDY_INVALID_ARGUMENT, EDDY_E_DIVISION_BY_ZERO);
    WANT("read", 1, 2, 3, 4);
    WANT("real_i", 5, -7);
    program_run_fetches(&p, "^div_ok");
    WANT("real_i", 2, -3);
}
END_TEST

START_TEST(strings_are_scattered)
{
    static const char *const after[] = {"z", "b", "x", "z", "y", "x"};
    const eddy_tensor *got;

    program_build(&p, "v VarHandleOp dtype=string shape=? shared_name='v'\n"
                      "start string[3]=a,b,c\n"
                      "init AssignVariableOp v start\n"
                      "at int32[2]=0,2\n"
                      "new string[2]=z,x\n"
                      "set ResourceScatterUpdate v at new\n"
                      "nd int32[2,1]=0,1\n"
                      "more string[2]=z,y\n"
                      "set_nd ResourceScatterNdUpdate v nd more\n"
                      "read ReadVariableOp v dtype=string\n");
    program_run_fetches(&p, "^init");
    for (int round = 0; round < 2; round++) {
        program_run_fetches(&p, round ? "^set_nd" : "^set");
        program_run_fetches(&p, "read");
        got = eddy_run_fetch(p.run, 0);
        for (int i = 0; i < 3; i++) {
            const eddy_string s = eddy_tensor_string(got, i);

            ck_assert_uint_eq(s.length, 1);
            ck_assert_int_eq(s.data[0], after[3 * round + i][0]);
        }
    }
}
END_TEST

START_TEST(slices_are_updated_by_vectors_of_indices)
{
    program_build(&p, START "at int32[3,2]=0,1,1,0,0,1\n"
                            "by float32[3]=10,20,30\n"
                            "row int32[1,1]=1\n"
                            "rows float32[1,2]=7,9\n"
                            "beyond int32[2,1]=0,2\n"
                            "pair float32[2,2]=1\n"
                            "set ResourceScatterNdUpdate v at by\n"
                            "add ResourceScatterNdAdd v at by\n"
                            "sub ResourceScatterNdSub v at by\n"
                            "min ResourceScatterNdMin v row rows\n"
                            "max ResourceScatterNdMax v row rows\n"
                            "bad ResourceScatterNdAdd v beyond pair\n"
                            "calm ResourceScatterNdAdd v beyond pair "
                            "bad_indices_policy='IGNORE'\n"
                            "shape ResourceScatterNdAdd v row pair\n");
    program_run_fetches(&p, "^init");
    program_run_fetches(&p, "^set");
    WANT("read", 1, 30, 20, 4);
    program_run_fetches(&p, "^add");
    WANT("read", 1, 70, 40, 4);
    program_run_fetches(&p, "^sub");
    WANT("read", 1, 30, 20, 4);
    program_run_fetches(&p, "^min");
    WANT("read", 1, 30, 7, 4);
    program_run_fetches(&p, "^max");
    WANT("read", 1, 30, 7, 9);
    refuse("^bad", EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    refuse("^shape", EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    WANT("read", 1, 30, 7, 9);
    program_run_fetches(&p, "^calm");
    WANT("read", 2, 31, 7, 9);
}
END_TEST

START_TEST(what_somebody_holds_is_copied_before_a_scatter)
{
    eddy_tensor *held;

    program_build(&p, START "at int32[1]=0\n"
                            "by float32=5\n"
                            "add ResourceScatterAdd v at by\n");
    program_run_fetches(&p, "^init");
    program_run_fetches(&p, "read");
    held = eddy_tensor_retain(eddy_run_fetch(p.run, 0));
    program_run_fetches(&p, "^add");
    ck_assert_float_eq(((const float *)eddy_tensor_data(held))[0], 1);
    eddy_tensor_release(held);
    WANT("read", 6, 7, 3, 4);
}
END_TEST

/* ---- gathers ---- */

START_TEST(slices_of_a_variable_are_gathered)
{
    program_build(&p, START "at int32[3]=1,0,1\n"
                            "batch int64[2,1]=1,0\n"
                            "nd int32[2,2]=0,1,1,1\n"
                            "bad int32[1]=2\n"
                            "flat ResourceGather v at dtype=float32\n"
                            "each ResourceGather v batch dtype=float32 "
                            "batch_dims=1\n"
                            "deep ResourceGather v at dtype=float32 "
                            "batch_dims=2\n"
                            "points ResourceGatherNd v nd dtype=float32\n"
                            "out ResourceGather v bad dtype=float32\n"
                            "other ResourceGather v at dtype=float64\n"
                            "both _ReadVariablesOp v v N=2 "
                            "dtypes=[float32,float32]\n");
    program_run_fetches(&p, "^init");
    WANT("flat", 3, 4, 1, 2, 3, 4);
    WANT("each", 2, 3);
    WANT("points", 2, 4);
    WANT("both:1", 1, 2, 3, 4);
    refuse("out", EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
    refuse("other", EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
    ck_assert_int_eq(program_try_fetches(&p, "deep"), EDDY_INVALID_ARGUMENT);
    WANT("read", 1, 2, 3, 4);
}
END_TEST

/* ---- optimizers ---- */

/* Slow references in double: `x` and its two slots by the gradient `g`. */
static void descend(double *x, double *slots, double g)
{
    (void)slots;
    *x -= 0.5 * g;
}

static void gain_momentum(double *x, double *slots, double g)
{
    slots[0] = slots[0] * 0.75 + g;
    *x -= slots[0] * 0.5;
}

static void gain_nesterov(double *x, double *slots, double g)
{
    slots[0] = slots[0] * 0.75 + g;
    *x -= g * 0.5 + slots[0] * 0.75 * 0.5;
}

/* lr 0.5, momentum 0.75 */
static void gain_keras(double *x, double *slots, double g)
{
    slots[0] = slots[0] * 0.75 - g * 0.5;
    *x += slots[0];
}

/* lr 0.5, epsilon 0.125 where there is one. */
static void gather_squares(double *x, double *slots, double g)
{
    slots[0] += g * g;
    *x -= 0.5 * g / sqrt(slots[0]);
}

static void gather_squares_v2(double *x, double *slots, double g)
{
    slots[0] += g * g;
    *x -= 0.5 * g / (sqrt(slots[0]) + 0.125);
}

/* lr 0.5, rho 0.75, momentum 0.25, epsilon 0.125 */
static void take_roots(double *x, double *slots, double g)
{
    slots[0] = 0.75 * slots[0] + 0.25 * g * g;
    slots[1] = 0.25 * slots[1] + 0.5 * g / sqrt(slots[0] + 0.125);
    *x -= slots[1];
}

static void take_deviations(double *x, double *slots, double g)
{
    slots[0] = 0.75 * slots[0] + 0.25 * g;
    slots[1] = 0.75 * slots[1] + 0.25 * g * g;
    slots[2] = 0.25 * slots[2] +
               0.5 * g / sqrt(slots[1] - slots[0] * slots[0] + 0.125);
    *x -= slots[2];
}

static void take_as_before(double *x, double *slots, double g)
{
    double by;

    slots[0] = 0.75 * slots[0] + 0.25 * g * g;
    by = sqrt((slots[1] + 0.125) / (slots[0] + 0.125)) * g;
    slots[1] = 0.75 * slots[1] + 0.25 * by * by;
    *x -= 0.5 * by;
}

/* Power 0.5, lr 0.5, beta1 0.5, beta2 0.75, epsilon 0.125. */
static void take_largest(double *x, double *slots, double g)
{
    slots[0] = 0.5 * slots[0] + 0.5 * g;
    slots[1] = fmax(0.75 * slots[1], fabs(g));
    *x -= 0.5 / (1 - 0.5) * slots[0] / (slots[1] + 0.125);
}

/* lr 0.5, l1 0.125, l2 0.25, l2_shrinkage `more`, lr_power -0.5 */
static void follow_with(double *x, double *slots, double g, double more)
{
    const double before = sqrt(slots[0]), rest = 0.125;
    double over;

    slots[0] += g * g;
    slots[1] += g + 2 * more * *x - (sqrt(slots[0]) - before) / 0.5 * *x;
    over = fmax(fabs(slots[1]) - rest, 0);
    *x = copysign(over, -slots[1]) / (sqrt(slots[0]) / 0.5 + 2 * 0.25);
}

static void follow(double *x, double *slots, double g)
{
    follow_with(x, slots, g, 0);
}

static void follow_shrunk(double *x, double *slots, double g)
{
    follow_with(x, slots, g, 0.75);
}

/* Powers 0.5 and 0.25, lr 0.5, beta1 0.5, beta2 0.75, epsilon 0.125. */
static double adapt_moments(double *slots, double g)
{
    slots[0] = 0.5 * slots[0] + 0.5 * g;
    slots[1] = 0.75 * slots[1] + 0.25 * g * g;
    return 0.5 * sqrt(1 - 0.25) / (1 - 0.5) / (sqrt(slots[1]) + 0.125);
}

static void adapt(double *x, double *slots, double g)
{
    const double rate = adapt_moments(slots, g);

    *x -= rate * slots[0];
}

static void adapt_nesterov(double *x, double *slots, double g)
{
    const double rate = adapt_moments(slots, g);

    *x -= rate * (0.5 * slots[0] + 0.5 * g);
}

static void adapt_to_most(double *x, double *slots, double g)
{
    adapt_moments(slots, g);
    slots[2] = fmax(slots[2], slots[1]);
    *x -=
        0.5 * sqrt(1 - 0.25) / (1 - 0.5) * slots[0] / (sqrt(slots[2]) + 0.125);
}

static const struct optimizer {
    const char *name;
    const char *line; /* between handles and attributes */
    int n_variables;
    const char *attrs; /* NULL: none, and there is none on references */
    void (*step)(double *x, double *slots, double g);
} optimizers[] = {
    {"GradientDescent", "half g", 1, "", descend},
    {"Momentum", "half g most", 2, "", gain_momentum},
    {"Momentum", "half g most", 2, "use_nesterov=true", gain_nesterov},
    {"Adam", "half quarter half half most eighth g", 3, "", adapt},
    {"Adam", "half quarter half half most eighth g", 3, "use_nesterov=true",
     adapt_nesterov},
    {"Adagrad", "half g", 2, "", gather_squares},
    {"AdagradV2", "half eighth g", 2, "", gather_squares_v2},
    {"RMSProp", "half most quarter eighth g", 3, "", take_roots},
    {"CenteredRMSProp", "half most quarter eighth g", 4, "", take_deviations},
    {"Adadelta", "half most eighth g", 3, "", take_as_before},
    {"AdaMax", "half half half most eighth g", 3, "", take_largest},
    {"Ftrl", "g half eighth quarter minus", 3, "", follow},
    {"FtrlV2", "g half eighth quarter most minus", 3, "", follow_shrunk},
    {"AdamWithAmsgrad", "half quarter half half most eighth g", 4, NULL,
     adapt_to_most},
    {"KerasMomentum", "half g most", 2, NULL, gain_keras},
};

#define N_OPTIMIZERS (sizeof optimizers / sizeof optimizers[0])

static const double start[] = {1, -2, 4};
static const double gradient[] = {0.5, -1, 0.25};

static void build_optimizer(const struct optimizer *o, const char *type,
                            bool is_reference)
{
    static const char *const handles[] = {"x", "m", "s", "w"};
    char text[2048], used[64] = "";

    for (int i = 0; i < 4; i++) {
        snprintf(text, sizeof text,
                 is_reference ? "%s VariableV2 dtype=%s shape=[3]\n"
                              : "%s VarHandleOp dtype=%s shape=[3]\n",
                 handles[i], type);
        program_build(&p, text);
        if (i < o->n_variables)
            snprintf(used + strlen(used), sizeof used - strlen(used), " %s",
                     handles[i]);
    }
    snprintf(text, sizeof text,
             "x0_ float32[3]=1,-2,4\nx0 Cast x0_ DstT=%s\n"
             "zero_ float32[3]=0\nzero Cast zero_ DstT=%s\n"
             "g_ float32[3]=0.5,-1,0.25\ng Cast g_ DstT=%s\n"
             "half_ float32=0.5\nhalf Cast half_ DstT=%s\n"
             "quarter_ float32=0.25\nquarter Cast quarter_ DstT=%s\n"
             "eighth_ float32=0.125\neighth Cast eighth_ DstT=%s\n"
             "most_ float32=0.75\nmost Cast most_ DstT=%s\n"
             "minus_ float32=-0.5\nminus Cast minus_ DstT=%s\n",
             type, type, type, type, type, type, type, type);
    program_build(&p, text);
    if (is_reference)
        snprintf(text, sizeof text,
                 "i0 Assign x x0\ni1 Assign m zero\ni2 Assign s zero\n"
                 "i3 Assign w zero\n"
                 "step Apply%s%s %s %s\n"
                 "real Cast x DstT=float64\n",
                 o->name, used, o->line, o->attrs ? o->attrs : "");
    else
        snprintf(text, sizeof text,
                 "i0 AssignVariableOp x x0\ni1 AssignVariableOp m zero\n"
                 "i2 AssignVariableOp s zero\ni3 AssignVariableOp w zero\n"
                 "step ResourceApply%s%s %s %s\n"
                 "read ReadVariableOp x dtype=%s\n"
                 "real Cast read DstT=float64\n",
                 o->name, used, o->line, o->attrs ? o->attrs : "", type);
    program_build(&p, text);
}

START_TEST(optimizers_do_as_their_formulas)
{
    static const eddy_dtype floats[] = {EDDY_FLOAT16, EDDY_FLOAT32,
                                        EDDY_FLOAT64};
    static const double tolerances[] = {4e-3, 1e-6, 1e-14};
    const struct optimizer *o = &optimizers[_i / 6];
    const int which = _i / 2 % 3;
    double x[3], slots[3][3] = {{0}};

    if (_i % 2 && !o->attrs)
        return;
    memcpy(x, start, sizeof x);
    build_optimizer(o, eddy_dtype_name(floats[which]), _i % 2);
    program_run_fetches(&p, "^i0 ^i1 ^i2 ^i3");
    for (int round = 0; round < 3; round++) {
        program_run_fetches(&p, "^step");
        for (int i = 0; i < 3; i++)
            o->step(&x[i], slots[i], gradient[i]);
        want("real", 3, x, tolerances[which]);
    }
}
END_TEST

START_TEST(optimizers_check_what_they_get)
{
    program_build(&p, "x VarHandleOp dtype=float32 shape=?\n"
                      "m VarHandleOp dtype=float32 shape=?\n"
                      "three float32[3]=1\n"
                      "two float32[2]=1\n"
                      "one float32=1\n"
                      "ix AssignVariableOp x three\n"
                      "im AssignVariableOp m two\n"
                      "ok AssignVariableOp m three\n"
                      "none ResourceApplyGradientDescent x one three\n"
                      "rate ResourceApplyGradientDescent x two three\n"
                      "grad ResourceApplyGradientDescent x one two\n"
                      "slot ResourceApplyMomentum x m one three one\n"
                      "same ResourceApplyMomentum x x one three one\n"
                      "i VarHandleOp dtype=int32 shape=()\n"
                      "n int32=1\n"
                      "ints ResourceApplyGradientDescent i n n\n");
    refuse("^none", EDDY_INTERNAL, EDDY_E_UNINITIALIZED);
    program_run_fetches(&p, "^ix ^im");
    refuse("^rate", EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    refuse("^grad", EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    refuse("^slot", EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    refuse("^ints", EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL);
    program_run_fetches(&p, "^ok");
    program_run_fetches(&p, "^slot");
    program_run_fetches(&p, "^same");
}
END_TEST

/* ---- failing allocations ---- */

START_TEST(updates_without_memory_change_nothing)
{
    static const char *const updates[] = {"scatter", "nd", "step", "words"};
    bool done = false;

    program_build(&p,
                  START "w VarHandleOp dtype=string shape=? shared_name='w'\n"
                        "texts string[2]=abc,def\n"
                        "init_w AssignVariableOp w texts\n"
                        "at int32[1]=0\nfirst int32[1,1]=0\n"
                        "by float32[1,2]=10,20\n"
                        "g float32[2,2]=1\none float32=1\n"
                        "text string[1]=xyz\n"
                        "scatter ResourceScatterAdd v at by ^read\n"
                        "nd ResourceScatterNdAdd v first by ^read\n"
                        "step ResourceApplyGradientDescent v one g ^read\n"
                        "words ResourceScatterUpdate w at text\n"
                        "got ReadVariableOp w dtype=string\n");
    for (int64_t n = 0; !done; n++) {
        char target[32];
        eddy_status status;
        const eddy_tensor *t;

        program_run_fetches(&p, "^init ^init_w");
        snprintf(target, sizeof target, "read ^%s", updates[_i]);
        program_plan(&p, NULL, target);
        counting_allocator_allow(&p.counting, n);
        status = eddy_run_create(p.plan, &p.run_options, &p.run, &p.err);
        if (status == EDDY_OK)
            status = eddy_run_execute(p.run, &p.err);
        counting_allocator_allow(&p.counting, -1);
        done = status == EDDY_OK;
        ck_assert_int_lt(n, 200);
        if (done)
            break;
        ck_assert_int_eq(status, EDDY_RESOURCE_EXHAUSTED);
        program_run_fetches(&p, "read got");
        t = eddy_run_fetch(p.run, 1);
        ck_assert_int_eq(eddy_tensor_count(t), 2);
        ck_assert_uint_eq(eddy_tensor_string(t, 1).length, 3);
        ck_assert_int_eq(eddy_tensor_string(t, 1).data[0], 'd');
    }
}
END_TEST

TCase *variable_updates_tests(void)
{
    TCase *tc = tcase_create("variable_updates");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, scatters_combine_rows_of_every_dtype, 0, N_NUMBERS);
    tcase_add_test(tc, a_bad_scatter_changes_nothing);
    tcase_add_test(tc, strings_are_scattered);
    tcase_add_test(tc, slices_are_updated_by_vectors_of_indices);
    tcase_add_test(tc, what_somebody_holds_is_copied_before_a_scatter);
    tcase_add_test(tc, slices_of_a_variable_are_gathered);
    tcase_add_loop_test(tc, optimizers_do_as_their_formulas, 0,
                        6 * N_OPTIMIZERS);
    tcase_add_test(tc, optimizers_check_what_they_get);
    tcase_add_loop_test(tc, updates_without_memory_change_nothing, 0, 4);
    return tc;
}
