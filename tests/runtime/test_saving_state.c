/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints of loops that carry lists, or change TensorArrays, stacks and
 * queues: what comes of a run that was broken off and goes on has the bits of
 * one that was not.
 */
#include "core/bundle/bundle.h"
#include "core/bundle/saved_trips.h"
#include "core/value/dtype.h"
#include "eddy/gradients.h"
#include "eddy/processes.h"
#include "tests/aid/child.h"
#include "tests/aid/program.h"
#include "tests/aid/scratch_folder.h"
#include "tests/suites.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* while i < n; what is before it waits for `init`. */
#define COUNTER                                                                \
    "n ?int32\nzero int32=0 ^init\n"                                           \
    "i/e Enter@L#4 zero\ni/m Merge i/e i/n\ni/l Enter@L!#4 n\n"                \
    "i/less Less i/m i/l\ni/c LoopCond i/less\ni/s Switch i/m i/c\n"           \
    "i/x Exit i/s:0\ni/b Identity i/s:1\ni/one int32=1 ^i/b\n"                 \
    "i/a AddV2 i/b i/one\ni/n NextIteration i/a\n"

/* What is carried as NAME, from `from`; NAME/b is its value in a trip. */
#define CARRIED(name, from)                                                    \
    name "/e Enter@L#4 " from "\n" name "/m Merge " name "/e " name            \
         "/n\n" name "/s Switch " name "/m i/c\n" name "/x Exit " name         \
         "/s:0\n" name "/b Identity " name "/s:1\n"
#define NEXT(name, value) name "/n NextIteration " value "\n"

#define NUMBERS                                                                \
    "init NoOp\nx0 float64=0.5\n" COUNTER CARRIED(                             \
        "x", "x0") "x/k float64=1.25 ^x/b\nx/y Mul x/b x/k\n" NEXT("x", "x/y")

/* The same but for what x becomes. */
#define NUMBERS2 "init NoOp\nx0 float64=0.5\n" COUNTER CARRIED("x", "x0")

/*
 * Lists of scalars with items that were never set, of texts, of vectors that
 * grow, and a list of lists that gets one more in each trip.
 */
#define EMPTY                                                                  \
    "any int32=-1\none int32[1]=-1\nmost int32=40\n"                           \
    "la TensorListReserve any most element_dtype=float64 "                     \
    "shape_type=int32\n"                                                       \
    "lb EmptyTensorList any any element_dtype=string shape_type=int32\n"       \
    "lc EmptyTensorList one any element_dtype=complex128 "                     \
    "shape_type=int32\n"                                                       \
    "ld EmptyTensorList any any element_dtype=variant shape_type=int32\n"      \
    "le EmptyTensorList any any element_dtype=bool shape_type=int32\n"
#define FILLED                                                                 \
    "two int32=2\na/two Enter@L! two\na/at Mul i/b a/two\n"                    \
    "a/y TensorListSetItem a/b a/at x/b element_dtype=float64\n"               \
    "b/t AsString x/b\nb/y TensorListPushBack b/b b/t element_dtype=string\n"  \
    "c/t Cast x/b SrcT=float64 DstT=complex128\n"                              \
    "c/z int32=0 ^c/b\nc/d ExpandDims i/b c/z\nc/f Fill c/d c/t\n"             \
    "c/y TensorListPushBack c/b c/f element_dtype=complex128\n"                \
    "d/y TensorListPushBack d/b b/b element_dtype=variant\n"                   \
    "e/y TensorListPushBack e/b i/less element_dtype=bool\n"
#define READ                                                                   \
    "nine int32=9\nnone int32[0]=0\n"                                          \
    "a/stack TensorListStack a/x none element_dtype=float64\n"                 \
    "b/stack TensorListStack b/x none element_dtype=string\n"                  \
    "c/item TensorListGetItem c/x nine one element_dtype=complex128\n"         \
    "c/count TensorListLength c/x\n"                                           \
    "d/item TensorListGetItem d/x nine none element_dtype=variant\n"           \
    "d/stack TensorListStack d/item none element_dtype=string\n"               \
    "e/stack TensorListStack e/x none element_dtype=bool\n"
/* clang-format off */
#define LISTS                                                                  \
    NUMBERS EMPTY CARRIED("a", "la") CARRIED("b", "lb") CARRIED("c", "lc")     \
    CARRIED("d", "ld") CARRIED("e", "le") FILLED NEXT("a", "a/y")              \
    NEXT("b", "b/y") NEXT("c", "c/y") NEXT("d", "d/y") NEXT("e", "e/y") READ
/* clang-format on */
#define OF_LISTS "x/x a/stack b/stack c/item c/count d/stack e/stack"

/*
 * An array that each trip writes, one of other shapes that grows, one that was
 * written before and is read, cleared and written behind that, and a gradient's
 * array that sums up.
 */
#define ARRAYS                                                                 \
    NUMBERS                                                                    \
    "size int32=40\nfew int32=1\n"                                             \
    "ta TensorArrayV3 size dtype=float64\n"                                    \
    "tb TensorArrayV3 few dtype=float64 dynamic_size=true\n"                   \
    "tc TensorArrayV3 size dtype=string\n"                                     \
    "g TensorArrayGradV3 ta ta:1 source='g' ^init\n"                           \
    "a/h Enter@L!#4 ta\nb/h Enter@L!#4 tb\nc/h Enter@L!#4 tc\n"                \
    "g/h Enter@L!#4 g\n" CARRIED("f", "ta:1") CARRIED("fb", "tb:1")            \
        CARRIED("fc", "tc:1") CARRIED(                                         \
            "fg",                                                              \
            "g:1") "f/y TensorArrayWriteV3 a/h i/b x/b f/b\n"                  \
                   "f/z int32=0 ^f/b\nf/d ExpandDims i/b f/z\nf/v Fill "       \
                   "f/d x/b\n"                                                 \
                   "fb/y TensorArrayWriteV3 b/h i/b f/v fb/b\n"                \
                   "fc/t AsString x/b\nfc/y TensorArrayWriteV3 c/h i/b "       \
                   "fc/t fc/b\n"                                               \
                   "fc/r TensorArrayReadV3 c/h i/b fc/y dtype=string\n"        \
                   "fc/l StringLength fc/r\nfc/c Cast fc/l SrcT=int32 "        \
                   "DstT=float32\n"                                            \
                   "fc/w AddV2 fc/c fc/y\n"                                    \
                   "fg/z int32=3 ^fg/b\n"                                      \
                   "fg/y TensorArrayWriteV3 g/h fg/z x/b fg/b\n" NEXT(         \
                       "f", "f/y") NEXT("fb", "fb/y") NEXT("fc", "fc/w")       \
                       NEXT("fg",                                              \
                            "fg/y") "st int32=1\nall Range zero i/x st\n"      \
                                    "three int32=3\nfive "                     \
                                    "int32=5\n"                                \
                                    "a/all TensorArrayGatherV3 ta all "        \
                                    "f/x dtype=float64\n"                      \
                                    "b/size TensorArraySizeV3 tb fb/x\n"       \
                                    "b/item TensorArrayReadV3 tb five "        \
                                    "fb/x dtype=float64\n"                     \
                                    "g/item TensorArrayReadV3 g three "        \
                                    "fg/x dtype=float64\n"
#define OF_ARRAYS "x/x a/all b/size b/item fc/x g/item"

/* A stack of scalars, then of vectors, from which every third trip takes. */
#define STACKS(spills)                                                         \
    NUMBERS                                                                    \
    "deep int32=-1\n"                                                          \
    "sa StackV2 deep elem_type=float64\n"                                      \
    "sb StackV2 deep elem_type=float64\n"                                      \
    "a/h Enter@L!#4 sa\nb/h Enter@L!#4 sb\n"                                   \
    "a/push StackPushV2 a/h x/b swap_memory=" spills "\n"                      \
    "v/size int32[1]=900 ^x/b\nv/v Fill v/size x/b\n"                          \
    "b/push StackPushV2 b/h v/v swap_memory=" spills "\n"                      \
    "b/again StackPushV2 b/h v/v swap_memory=" spills " ^b/push\n"             \
    "b/pop StackPopV2 b/h elem_type=float64 ^b/again\n" CARRIED(               \
        "z", "x0") "z/ax int32=0 ^z/b\nz/r Sum b/pop z/ax\n"                   \
                   "z/q AddV2 z/b z/r ^a/push\n" NEXT(                         \
                       "z",                                                    \
                       "z/q") "p1 StackPopV2 sa elem_type=float64 ^x/x ^z/x\n" \
                              "p2 StackPopV2 sa elem_type=float64 ^p1\n"       \
                              "p3 StackPopV2 sb elem_type=float64 ^z/x\n"      \
                              "p4 StackPopV2 sb elem_type=float64 ^p3\n"
#define OF_STACKS "x/x z/x p1 p2 p3 p4"

/* Two go in each trip, of which one comes out. */
#define QUEUES                                                                 \
    "x0 float64=0.5\n"                                                         \
    "q FIFOQueueV2 component_types=[float64,string] capacity=200\n"            \
    "t0 string=first\n"                                                        \
    "init QueueEnqueueV2 q x0 t0 Tcomponents=[float64,string]\n" COUNTER       \
        CARRIED("x", "x0") "x/k float64=1.25 ^x/b\nx/y Mul x/b x/k\n"          \
                           "q/h Enter@L!#4 q\nq/t AsString x/b\n"              \
                           "q/1 QueueEnqueueV2 q/h x/b q/t "                   \
                           "Tcomponents=[float64,string]\n"                    \
                           "q/2 QueueEnqueueV2 q/h x/y q/t "                   \
                           "Tcomponents=[float64,string] ^q/1\n"               \
                           "q/3 QueueDequeueV2 q/h "                           \
                           "component_types=[float64,string] ^q/2\n"           \
                           "x/w Identity x/y ^q/3\n" NEXT("x", "x/w")          \
                               CARRIED("z", "x0") "z/y AddV2 z/b q/3\n" NEXT(  \
                                   "z", "z/y") "d QueueDequeueV2 q "           \
                                               "component_types=[float64,"     \
                                               "string] ^x/x ^z/x\n"           \
                                               "size QueueSizeV2 q ^d\n"
#define OF_QUEUES "x/x z/x d d:1 size"

/* Any of those that are there comes out, by the numbers of its seeds. */
#define SHUFFLED                                                               \
    "x0 float64=0.5\nv0 float64[6]=1,2,4,8,16,32\n"                            \
    "q RandomShuffleQueueV2 component_types=[float64] capacity=200 "           \
    "min_after_dequeue=2 seed=7 seed2=3\n"                                     \
    "init QueueEnqueueManyV2 q v0 Tcomponents=[float64]\n" COUNTER CARRIED(    \
        "x", "x0") "x/k float64=1.25 ^x/b\nx/y Mul x/b x/k\n"                  \
                   "q/h Enter@L!#4 q\n"                                        \
                   "q/1 QueueEnqueueV2 q/h x/b Tcomponents=[float64]\n"        \
                   "q/3 QueueDequeueV2 q/h component_types=[float64] "         \
                   "^q/1\nx/v Mul x/y q/3\nx/o float64=100 ^x/b\n"             \
                   "x/w Mod x/v x/o\n" NEXT("x", "x/w")                        \
                       CARRIED("z", "x0") "z/y AddV2 z/b q/3\n" NEXT(          \
                           "z", "z/y") "d QueueDequeueV2 q "                   \
                                       "component_types=[float64] ^x/x ^z/x\n" \
                                       "size QueueSizeV2 q ^d\n"
#define OF_SHUFFLED "x/x z/x d size"

/* Of texts; of vectors; and one from which as much goes as comes. */
#define TABLES                                                                 \
    NUMBERS                                                                    \
    "ta MutableHashTableV2 key_dtype=string value_dtype=float64\n"             \
    "tb MutableHashTableOfTensorsV2 key_dtype=int32 value_dtype=float64 "      \
    "value_shape=[2] shared_name='pairs'\n"                                    \
    "e0 int64=-1\nd0 int64=-2\n"                                               \
    "tc MutableDenseHashTableV2 e0 d0 value_dtype=float64\n"                   \
    "a/h Enter@L!#4 ta\nb/h Enter@L!#4 tb\nc/h Enter@L!#4 tc\n"                \
    "a/k AsString i/b\n"                                                       \
    "a/1 LookupTableInsertV2 a/h a/k x/b Tin=string Tout=float64\n"            \
    "b/v Pack x/b x/b\n"                                                       \
    "b/1 LookupTableInsertV2 b/h i/b b/v Tin=int32 Tout=float64\n"             \
    "c/k Cast i/b SrcT=int32 DstT=int64\nc/o int64=100 ^x/b\n"                 \
    "c/l AddV2 c/k c/o\n"                                                      \
    "c/1 LookupTableInsertV2 c/h c/k x/b Tin=int64 Tout=float64\n"             \
    "c/2 LookupTableInsertV2 c/h c/l x/b Tin=int64 Tout=float64 ^c/1\n"        \
    "c/3 LookupTableRemoveV2 c/h c/k Tin=int64 ^c/2\n" CARRIED(                \
        "z", "x0") "z/k string=2 ^z/b\n"                                       \
                   "z/f LookupTableFindV2 a/h z/k z/b Tin=string "             \
                   "Tout=float64 ^a/1\n"                                       \
                   "z/y AddV2 z/b z/f ^b/1 ^c/3\n" NEXT(                       \
                       "z", "z/y") "a/x LookupTableExportV2 ta Tkeys=string "  \
                                   "Tvalues=float64 ^z/x "                     \
                                   "^x/x\n"                                    \
                                   "b/x LookupTableExportV2 tb Tkeys=int32 "   \
                                   "Tvalues=float64 ^z/x "                     \
                                   "^x/x\n"                                    \
                                   "c/x LookupTableExportV2 tc Tkeys=int64 "   \
                                   "Tvalues=float64 ^z/x "                     \
                                   "^x/x\n"
#define OF_TABLES "x/x z/x a/x a/x:1 b/x b/x:1 c/x c/x:1"

/* A handle, an optional value of a list, and a map that the loop carries. */
#define HANDLES                                                                \
    NUMBERS                                                                    \
    "size int32=40\nta TensorArrayV3 size dtype=float64\n"                     \
    "any int32=-1\nmost int32=3\nst int32=1\n"                                 \
    "li TensorListReserve any most element_dtype=float64 "                     \
    "shape_type=int32\n"                                                       \
    "opt OptionalFromValue li Toutput_types=[variant]\n"                       \
    "map EmptyTensorMap\n" CARRIED("h", "ta") CARRIED("f", "ta:1")             \
        CARRIED("o", "opt") CARRIED(                                           \
            "m",                                                               \
            "map") "f/y TensorArrayWriteV3 h/b i/b x/b f/b\n"                  \
                   "m/y TensorMapInsert m/b i/b x/b key_dtype=int32 "          \
                   "value_dtype=float64\n" NEXT("h", "h/b") NEXT("f", "f/y")   \
                       NEXT("o", "o/b") NEXT(                                  \
                           "m",                                                \
                           "m/y") "all Range zero i/x st\nthree int32=3\n"     \
                                  "a/all TensorArrayGatherV3 h/x all f/x "     \
                                  "dtype=float64\n"                            \
                                  "b/all TensorArrayGatherV3 ta all f/x "      \
                                  "dtype=float64 ^a/all\n"                     \
                                  "o/has OptionalHasValue o/x\nm/size "        \
                                  "TensorMapSize m/x\n"                        \
                                  "m/item TensorMapLookup m/x three "          \
                                  "key_dtype=int32 "                           \
                                  "value_dtype=float64\n"
#define OF_HANDLES "a/all o/has m/size m/item"

static const struct looped {
    const char *text, *fetches;
} studied[] = {{LISTS, OF_LISTS},
               {ARRAYS, OF_ARRAYS},
               {STACKS("false"), OF_STACKS},
               {QUEUES, OF_QUEUES},
               {HANDLES, OF_HANDLES},
               {SHUFFLED, OF_SHUFFLED},
               {TABLES, OF_TABLES},
               {STACKS("true"), OF_STACKS}};

#define N_STUDIED ((int)(sizeof studied / sizeof studied[0]))
#define SPILLS (N_STUDIED - 1)
#define TRIPS 20
#define MOST_FETCHES 8

static char folder[SCRATCH_PATH];
static char files[SCRATCH_PATH + 16];

static void set_up(void)
{
    scratch_folder_create(folder);
    snprintf(files, sizeof files, "%s/saved", folder);
}

static void tear_down(void)
{
    scratch_folder_remove(folder);
}

/* ---- running ---- */

typedef struct result {
    eddy_tensor *fetched[MOST_FETCHES];
    size_t n;
    unsigned char bits[2][TRIPS * sizeof(double)]; /* over ranks */
} result;

typedef struct task {
    const char *text, *fetches;
    eddy_checkpoint saved; /* folder NULL: none */
    uint64_t most;         /* iterations before it is broken off; 0: none */
    uint64_t spills_above; /* 0: nothing spills */
    int32_t n;             /* trips; 0: TRIPS */
    size_t n_fetches;
} task;

static eddy_checkpoint every(int64_t n, bool resume)
{
    return (eddy_checkpoint){.size = sizeof(eddy_checkpoint),
                             .folder = files,
                             .every = n,
                             .resume = resume};
}

/* Of the fetches only; the program must be there as long. */
static eddy_status run_in(program *p, const task *t, result *out)
{
    eddy_status status;

    p->plan_options.checkpoint = t->saved.folder ? &t->saved : NULL;
    p->run_options.max_iterations = t->most;
    p->run_options.spill_above = t->spills_above;
    p->run_options.spill_folder = t->spills_above > 0 ? folder : NULL;
    program_build(p, t->text);
    status = program_try_plan(p, "n", t->fetches);
    if (status != EDDY_OK)
        return status;
    program_make_run(p);
    program_feed_int32(p, 0, t->n > 0 ? t->n : TRIPS);
    status = program_execute(p);
    while (status == EDDY_OK && out && out->n < t->n_fetches) {
        out->fetched[out->n] = eddy_run_fetch(p->run, out->n);
        out->n++;
    }
    return status;
}

static bool same_strings(const eddy_tensor *a, const eddy_tensor *b)
{
    for (int64_t i = 0; i < eddy_tensor_count(a); i++) {
        eddy_string x = eddy_tensor_string(a, i), y = eddy_tensor_string(b, i);

        if (x.length != y.length || memcmp(x.data, y.data, x.length) != 0)
            return false;
    }
    return true;
}

static void want_same(const result *a, const result *b)
{
    ck_assert_uint_eq(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        const eddy_tensor *x = a->fetched[i], *y = b->fetched[i];

        ck_assert_int_eq(eddy_tensor_count(x), eddy_tensor_count(y));
        if (eddy_tensor_dtype(x) == EDDY_STRING)
            ck_assert(same_strings(x, y));
        else
            ck_assert_msg(memcmp(eddy_tensor_data(x), eddy_tensor_data(y),
                                 eddy_tensor_bytes(x)) == 0,
                          "fetch %zu differs", i);
    }
}

/* ---- runs that are broken off ---- */

static task task_of(int i)
{
    task t = {.text = studied[i].text,
              .fetches = studied[i].fetches,
              .n_fetches = 1,
              .spills_above = i == SPILLS ? 4096 : 0};

    for (const char *at = t.fetches; *at; at++)
        t.n_fetches += *at == ' ';
    return t;
}

static void remove_files(void)
{
    DIR *dir = opendir(files);
    char path[512];

    for (const struct dirent *e; dir && (e = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%.200s", files, e->d_name);
        if (e->d_name[0] != '.')
            ck_assert_int_eq(unlink(path), 0);
    }
    if (dir)
        closedir(dir);
}

/* Goes on from what is there, and must come to what `t` comes to. */
static void want_rest(const task *t, int64_t first)
{
    task whole = *t, rest = *t;
    program p, q;
    result wanted = {.n = 0}, found = {.n = 0};

    whole.most = rest.most = 0;
    whole.saved.folder = NULL;
    rest.saved = every(t->saved.every, true);
    program_init(&p, 0);
    program_want_ok(&p, run_in(&p, &whole, &wanted));
    program_init(&q, 2);
    program_want_ok(&q, run_in(&q, &rest, &found));
    ck_assert_int_ge(eddy_plan_first_trip(q.plan), first);
    want_same(&wanted, &found);
    program_deinit(&q);
    program_deinit(&p);
}

static void break_off(const task *t, eddy_status wanted)
{
    program p;

    program_init(&p, 2);
    ck_assert_msg(run_in(&p, t, NULL) == wanted, "%s", p.err.message);
    program_deinit(&p);
}

START_TEST(test_it_goes_on_to_the_same_bits)
{
    task t = task_of(_i);

    for (int64_t k = 1; k < 5; k += 3) {
        for (uint64_t most = 2; most < 24; most += 7) {
            t.saved = every(k, false);
            t.most = most;
            break_off(&t, most > TRIPS ? EDDY_OK : EDDY_RESOURCE_EXHAUSTED);
            want_rest(&t, (most > TRIPS ? TRIPS : (int64_t)most - 1) / k * k -
                              (k == 1));
            remove_files();
        }
    }
}
END_TEST

/* Checkpoints of a run that itself goes on from one. */
START_TEST(test_it_goes_on_again_and_again)
{
    task t = task_of(_i);
    int64_t first = -1;

    for (;;) {
        int64_t before = first;
        eddy_status status;
        program p;

        t.saved = every(2, true);
        t.most = 5;
        program_init(&p, 0);
        status = run_in(&p, &t, NULL);
        ck_assert_ptr_nonnull(p.plan);
        first = eddy_plan_first_trip(p.plan);
        program_deinit(&p);
        if (status == EDDY_OK)
            break;
        ck_assert_int_gt(first, before);
    }
    t.most = 0;
    want_rest(&t, TRIPS - 6);
}
END_TEST

START_TEST(test_what_has_spilled_is_saved)
{
    task t = task_of(SPILLS);
    program p;

    t.saved = every(7, false);
    program_init(&p, 0);
    program_want_ok(&p, run_in(&p, &t, NULL));
    ck_assert_uint_gt(eddy_run_spilled(p.run), 0);
    program_deinit(&p);
    want_rest(&t, 14);
}
END_TEST

/* What was read and cleared stays so. */
START_TEST(test_an_item_that_was_cleared_stays_cleared)
{
    task t = {
        .text = NUMBERS
        "size int32=40\nta TensorArrayV3 size dtype=float64\n"
        "a/h Enter@L!#4 ta\n" CARRIED(
            "f", "ta:1") "f/y TensorArrayWriteV3 a/h i/b x/b f/b\n"
                         "f/r TensorArrayReadV3 a/h i/b f/y dtype=float64\n"
                         "f/c Cast f/r SrcT=float64 DstT=float32\n"
                         "f/z AddV2 f/y f/c\n" NEXT(
                             "f", "f/z") "three int32=3\n"
                                         "r TensorArrayReadV3 ta three f/x "
                                         "dtype=float64\n",
        .fetches = "r",
        .saved = every(5, false)};

    for (int i = 0; i < 2; i++) {
        program p;

        program_init(&p, 0);
        program_want(&p, run_in(&p, &t, NULL), EDDY_INVALID_ARGUMENT,
                     EDDY_E_ITEM_CLEARED);
        ck_assert(i == 0 || eddy_plan_first_trip(p.plan) > 0);
        program_deinit(&p);
        t.saved = every(0, true);
    }
}
END_TEST

/* ---- gradients ---- */

/* Of x after the loop, by x0: bits of it; the loop at first, then its own. */
static eddy_status differentiate(program *p, const eddy_checkpoint *saved,
                                 uint64_t most, uint64_t *bits)
{
    eddy_output x0, y, gradient;
    eddy_status status;

    p->plan_options.checkpoint = saved;
    p->run_options.max_iterations = most;
    program_build(
        p, "init NoOp\nx0 float64=1.01\n" COUNTER CARRIED(
               "x", "x0") "x/y Mul x/b x/b\nx/c Sin x/y\n" NEXT("x", "x/c"));
    x0 = program_output(p, "x0");
    y = program_output(p, "x/x");
    program_want_ok(
        p, eddy_gradients(p->graph, &y, 1, &x0, 1, NULL, &gradient, &p->err));
    status =
        program_try_plan(p, "n", eddy_graph_node_name(p->graph, gradient.node));
    if (status != EDDY_OK)
        return status;
    program_make_run(p);
    program_feed_int32(p, 0, TRIPS);
    status = program_execute(p);
    if (status == EDDY_OK)
        memcpy(bits, eddy_tensor_data(eddy_run_fetch(p->run, 0)), sizeof *bits);
    return status;
}

/* The one fills stacks, and the other empties them. */
START_TEST(test_loops_of_a_gradient_go_on)
{
    static const char *const loops[] = {"L", "gradients/L"};
    uint64_t bits[3] = {1, 2, 3};

    for (int i = 0; i < 3; i++) {
        eddy_checkpoint saved = every(4, i == 2);
        eddy_status status;
        program p;

        saved.loop = loops[_i];
        program_init(&p, 0);
        status =
            differentiate(&p, i > 0 ? &saved : NULL,
                          i == 1 ? 14 + (uint64_t)_i * TRIPS : 0, &bits[i]);
        ck_assert_msg(status == (i == 1 ? EDDY_RESOURCE_EXHAUSTED : EDDY_OK),
                      "%s", p.err.message);
        ck_assert(i < 2 || eddy_plan_first_trip(p.plan) >= 8);
        program_deinit(&p);
    }
    ck_assert_uint_eq(bits[0], bits[2]);
}
END_TEST

/* ---- refusals ---- */

static void want_refused(const char *text, const char *node, const char *words)
{
    const task t = {.text = text, .fetches = "x/x", .saved = every(3, false)};
    program p;

    program_init(&p, 0);
    program_want(&p, run_in(&p, &t, NULL), EDDY_UNIMPLEMENTED,
                 EDDY_E_CHECKPOINT);
    ck_assert_msg(strstr(p.err.message, words) != NULL, "%s", p.err.message);
    ck_assert_str_eq(p.err.node, node);
    program_deinit(&p);
}

START_TEST(test_a_state_that_is_not_saved_is_refused)
{
    want_refused("x0 float32=0.5\ninit NoOp\n"
                 "q AnonymousMutableHashTable key_dtype=int32 "
                 "value_dtype=float32\n" COUNTER CARRIED(
                     "x", "x0") "q/h Enter@L!#4 q\n"
                                "q/1 LookupTableInsertV2 q/h i/b x/b Tin=int32 "
                                "Tout=float32\n"
                                "x/y Identity x/b ^q/1\n" NEXT("x", "x/y"),
                 "q/1", "not saved");
    want_refused(NUMBERS2 "size int32=9\nta TensorArrayV2 size dtype=float64\n"
                          "f0 float32=0\na/h Enter@L!#4 ta\n"
                          "f Enter@L!#4 f0\n"
                          "x/w TensorArrayWriteV2 a/h i/b x/b f T=float64\n"
                          "x/y Identity x/b ^x/w\n" NEXT("x", "x/y"),
                 "x/w", "with names");
    want_refused(NUMBERS2 "size int32=9\nta TensorArrayV3 size dtype=float64\n"
                          "tb TensorArrayV3 size dtype=float64\n"
                          "yes bool=true\nsa Switch ta yes\nsb Switch tb yes\n"
                          "t Merge sa:1 sb\na/h Enter@L!#4 t\n"
                          "f Enter@L!#4 ta:1\n"
                          "x/w TensorArrayWriteV3 a/h i/b x/b f T=float64\n"
                          "x/y Identity x/b ^x/w\n" NEXT("x", "x/y"),
                 "x/w", "one of several");
}
END_TEST

#define SHARED(then)                                                           \
    NUMBERS2 "size int32=39\nta TensorArrayV3 size dtype=float64\n"            \
             "a/h Enter@L!#4 ta\nf Enter@L!#4 ta:1\nat int32=38\n"             \
             "x/w TensorArrayWriteV3 a/h i/b x/b f T=float64\n"                \
             "x/y Identity x/b ^x/w\n" NEXT("x", "x/y") then

/* It would be written by two at once, so nobody can say what is saved. */
START_TEST(test_a_state_that_others_change_meanwhile_is_refused)
{
    task t = {.text = SHARED("w TensorArrayWriteV3 ta at x0 ta:1\n"
                             "z AddV2 w w\n"),
              .fetches = "x/x z",
              .saved = every(3, false)};
    program p;

    program_init(&p, 0);
    program_want(&p, run_in(&p, &t, NULL), EDDY_UNIMPLEMENTED,
                 EDDY_E_CHECKPOINT);
    ck_assert_str_eq(p.err.node, "w");
    program_deinit(&p);
    /* Not one who writes behind it. */
    t.text = SHARED("w TensorArrayWriteV3 ta at x/x ta:1\nz AddV2 w w\n");
    program_init(&p, 0);
    program_want_ok(&p, run_in(&p, &t, NULL));
    program_deinit(&p);
}
END_TEST

START_TEST(test_what_is_behind_a_handle_may_have_no_form)
{
    const task t = {
        .text = NUMBERS
        "tb AnonymousMutableHashTable key_dtype=int64 "
        "value_dtype=float32\n" CARRIED("h", "tb")
            NEXT("h", "h/b") "h/y Identity h/x\nh/k LookupTableSizeV2 h/y\n",
        .fetches = "h/k",
        .saved = every(3, false)};
    program p;

    program_init(&p, 0);
    program_want(&p, run_in(&p, &t, NULL), EDDY_UNIMPLEMENTED,
                 EDDY_E_CHECKPOINT);
    ck_assert_ptr_nonnull(strstr(p.err.message, "table"));
    program_deinit(&p);
}
END_TEST

/* ---- damage ---- */

#define MOST_ITEMS 32

typedef struct saved_bundle {
    eddy__bundle bundle;
    eddy_tensor *tensors[MOST_ITEMS];
    eddy__bundle_item items[MOST_ITEMS];
    size_t objects; /* which it is */
} saved_bundle;

static void find_prefix(char prefix[512])
{
    DIR *dir = opendir(files);

    prefix[0] = '\0';
    for (const struct dirent *e; dir && (e = readdir(dir));)
        if (strstr(e->d_name, ".index"))
            snprintf(prefix, 512, "%s/%.*s", files, (int)strlen(e->d_name) - 6,
                     e->d_name);
    if (dir)
        closedir(dir);
    ck_assert_int_ne(prefix[0], '\0');
}

static void load_bundle(const program *p, const char *prefix, saved_bundle *b)
{
    const eddy_string text = {prefix, strlen(prefix)};
    eddy_error err;

    ck_assert_int_eq(
        eddy__bundle_open(&p->counting.allocator, text, &b->bundle, &err),
        EDDY_OK);
    ck_assert_uint_le(b->bundle.n, MOST_ITEMS);
    for (size_t i = 0; i < b->bundle.n; i++) {
        const eddy__bundle_entry *e = &b->bundle.entries[i];
        const eddy_dtype dtype = eddy__dtype_from_tf(e->tf_dtype);

        ck_assert_int_eq(
            eddy_tensor_create(p->ctx, dtype, &e->shape, &b->tensors[i], &err),
            EDDY_OK);
        ck_assert_int_eq(eddy__bundle_read(&b->bundle, e, b->tensors[i], &err),
                         EDDY_OK);
        b->items[i] =
            (eddy__bundle_item){.name = e->name,
                                .dtype = dtype,
                                .shape = &e->shape,
                                .count = eddy_tensor_count(b->tensors[i]),
                                .data = b->tensors[i]->data};
        if (strncmp(e->name.data, EDDY__SAVED_OBJECTS, e->name.length) == 0)
            b->objects = i;
    }
}

/* Writes it with other bytes of its lists; checksums are right. */
static void write_bundle(const program *p, const char *prefix,
                         const saved_bundle *b, const void *bytes, int64_t n)
{
    const eddy_shape shape = {.rank = 1, .dims = {n}};
    eddy__bundle_item items[MOST_ITEMS];
    eddy_error err;

    memcpy(items, b->items, sizeof items);
    items[b->objects].data = bytes;
    items[b->objects].shape = &shape;
    items[b->objects].count = n;
    ck_assert_int_eq(eddy__bundle_write(&p->counting.allocator,
                                        (eddy_string){prefix, strlen(prefix)},
                                        items, b->bundle.n, &err),
                     EDDY_OK);
}

static uint32_t draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

/* Changes some bytes, or cuts some off. */
static int64_t spoil(unsigned char *bytes, int64_t n, uint64_t *seed)
{
    const uint32_t how = draw(seed) % 4;

    if (how == 0)
        return (int64_t)(draw(seed) % (uint64_t)n);
    for (uint32_t i = 0; i < how; i++) {
        unsigned char *at = &bytes[draw(seed) % (uint64_t)n];

        *at = draw(seed) % 2 ? (unsigned char)draw(seed)
                             : (unsigned char)(*at + draw(seed) % 5 - 2);
    }
    return n;
}

/* It fails, or goes on with other values: nothing else happens. */
static void go_on_with(const task *t, size_t *n_damaged)
{
    eddy_status status;
    program p;

    program_init(&p, 0);
    p.run_options.max_bytes = 64 << 20;
    status = run_in(&p, t, NULL);
    ck_assert_int_ne(status, EDDY_INTERNAL);
    *n_damaged += status == EDDY_DATA_LOSS;
    program_deinit(&p);
}

START_TEST(test_a_file_that_makes_no_sense_is_told)
{
    task t = task_of(_i), rest = t;
    saved_bundle b = {.objects = 0};
    uint64_t seed = 20261124 + (uint64_t)_i;
    size_t n_damaged = 0;
    char prefix[512];
    int64_t n;
    program p;

    t.saved = every(8, false);
    break_off(&t, EDDY_OK);
    rest.saved = every(0, true);
    program_init(&p, 0);
    find_prefix(prefix);
    load_bundle(&p, prefix, &b);
    n = eddy_tensor_count(b.tensors[b.objects]);
    for (size_t i = 0; i < program_scale(40, 20); i++) {
        unsigned char *bytes = malloc((size_t)n);
        int64_t left;

        ck_assert_ptr_nonnull(bytes);
        memcpy(bytes, b.tensors[b.objects]->data, (size_t)n);
        left = spoil(bytes, n, &seed);
        write_bundle(&p, prefix, &b, bytes, left);
        free(bytes);
        go_on_with(&rest, &n_damaged);
    }
    ck_assert_uint_gt(n_damaged, 0);
    for (size_t i = 0; i < b.bundle.n; i++)
        eddy_tensor_release(b.tensors[i]);
    eddy__bundle_close(&b.bundle);
    program_deinit(&p);
}
END_TEST

/* ---- failing allocations ---- */

/* While it is saved, or goes on: it fails, and then all is as before. */
static int try_allocations(const task *t)
{
    int n_failed = 0;

    for (long long n = 0;; n++) {
        eddy_status status;
        long long left;
        program p;

        program_init(&p, 0);
        p.plan_options.checkpoint = &t->saved;
        program_build(&p, t->text);
        program_want_ok(&p, program_try_plan(&p, "n", t->fetches));
        program_make_run(&p);
        program_feed_int32(&p, 0, t->n);
        counting_allocator_fail(&p.counting, n);
        status = program_execute(&p);
        left = atomic_load(&p.counting.failing);
        counting_allocator_fail(&p.counting, -1);
        ck_assert_msg(status == EDDY_OK || status == EDDY_RESOURCE_EXHAUSTED,
                      "%lld: %s", n, p.err.message);
        n_failed += status != EDDY_OK;
        program_deinit(&p);
        if (!t->saved.resume)
            remove_files();
        if (left >= 0)
            return n_failed;
    }
}

START_TEST(test_each_allocation_may_fail)
{
    task t = task_of(_i);

    t.n = 10;
    t.saved = every(7, false);
    ck_assert_int_gt(try_allocations(&t), 10);
    break_off(&t, EDDY_OK);
    t.saved = every(0, true);
    ck_assert_int_gt(try_allocations(&t), 10);
}
END_TEST

/* ---- killed ---- */

static void wait_for_files(void)
{
    const struct timespec step = {.tv_nsec = 1000000};

    for (int i = 0; i < 20000; i++) {
        DIR *dir = opendir(files);
        bool any = false;

        for (const struct dirent *e; dir && (e = readdir(dir));)
            any = any ||
                  (strlen(e->d_name) > 6 &&
                   strcmp(e->d_name + strlen(e->d_name) - 6, ".index") == 0);
        if (dir)
            closedir(dir);
        if (any && i % 2 == 1)
            return;
        nanosleep(&step, NULL);
    }
    ck_abort_msg("no checkpoint");
}

/* What the trips before the kill wrote is there, whenever that comes. */
START_TEST(test_one_that_is_killed_goes_on)
{
    task t = {.text = LISTS,
              .fetches = OF_LISTS,
              .n_fetches = 6,
              .saved = every(1, false)};
    pid_t id = fork();

    ck_assert_int_ge(id, 0);
    if (id == 0) {
        program p;

        program_init(&p, 0);
        (void)run_in(&p, &t, NULL);
        program_deinit(&p);
        child_leave(1);
    }
    wait_for_files();
    ck_assert_int_eq(kill(id, SIGKILL), 0);
    ck_assert_int_eq(waitpid(id, NULL, 0), id);
    want_rest(&t, 1);
}
END_TEST

/* ---- ranks ---- */

/*
 * The lists are rank 0's, the array and what it is fed with rank 1's.  Or each
 * rank has all of it, and rank 1 runs nothing: without a collective nobody asks
 * it.
 */
static eddy_status run_ranks(const task *t, uint64_t seed, bool is_replicated,
                             result *out, eddy_error *err)
{
    static const eddy_place places[] = {
        {"f/", 1}, {"ta", 1}, {"a/h", 1}, {"a/all", 1}, {"g", 1}};
    const size_t n_places = sizeof places / sizeof *places;
    const int32_t n = TRIPS;
    const eddy_plan_options plan = {
        .size = sizeof plan, .checkpoint = t->saved.folder ? &t->saved : NULL};
    const eddy_run_options run = {.size = sizeof run,
                                  .max_iterations = t->most,
                                  .timeout_ns = UINT64_C(60000000000)};
    const eddy_ranks_options how = {
        .size = sizeof how, .plan = &plan, .run = &run, .seed = seed};
    eddy_output fed, fetches[2];
    eddy_partition *partition = NULL;
    eddy_ranks *ranks = NULL;
    eddy_tensor *feed;
    eddy_status status;
    program p;

    program_init(&p, 0);
    program_build(&p, t->text);
    fed = program_output(&p, "n");
    fetches[0] = program_output(&p, "x/x");
    fetches[1] = program_output(&p, "a/all");
    feed = program_tensor(&p, EDDY_INT32, &(eddy_shape){.rank = 0}, &n);
    status = eddy_partition_create(
        p.graph,
        &(eddy_partition_options){.size = sizeof(eddy_partition_options),
                                  .n_ranks = 2,
                                  .places = places,
                                  .n_places = is_replicated ? 0 : n_places,
                                  .is_replicated = is_replicated,
                                  .feeds = &fed,
                                  .n_feeds = 1,
                                  .fetches = fetches,
                                  .n_fetches = 2},
        &partition, &p.err);
    if (status == EDDY_OK)
        status = eddy_ranks_create(partition, &how, &ranks, &p.err);
    eddy_partition_destroy(partition);
    if (status == EDDY_OK)
        status = eddy_ranks_run(ranks, &feed, out->fetched, &p.err);
    out->n = status == EDDY_OK ? 2 : 0;
    *err = p.err;
    eddy_tensor_release(feed);
    eddy_ranks_destroy(ranks);
    if (status == EDDY_OK)
        for (int i = 0; i < 2; i++) {
            const eddy_tensor *x = out->fetched[i];

            ck_assert_uint_le(eddy_tensor_bytes(x), sizeof out->bits[i]);
            memcpy(out->bits[i], eddy_tensor_data(x), eddy_tensor_bytes(x));
        }
    for (int i = 0; i < 2; i++)
        eddy_tensor_release(out->fetched[i]);
    program_deinit(&p);
    return status;
}

START_TEST(test_ranks_go_on_to_the_same_bits)
{
    const bool is_replicated = _i > 0;
    task t = {.text = ARRAYS};
    result wanted = {.n = 0}, found = {.n = 0};
    eddy_error err = EDDY_ERROR_INIT;

    ck_assert_msg(run_ranks(&t, 0, is_replicated, &wanted, &err) == EDDY_OK,
                  "%s", err.message);
    for (uint64_t most = 6; most < 20; most += 6) {
        t.saved = every(2, false);
        t.most = most;
        ck_assert_int_ne(run_ranks(&t, most, is_replicated, &found, &err),
                         EDDY_OK);
        ck_assert_int_eq(err.detail, EDDY_E_LIMIT_ITERATIONS);
        t.saved = every(2, true);
        t.most = 0;
        ck_assert_msg(run_ranks(&t, 0, is_replicated, &found, &err) == EDDY_OK,
                      "%s", err.message);
        ck_assert_mem_eq(wanted.bits, found.bits, sizeof wanted.bits);
        remove_files();
    }
}
END_TEST

TCase *saving_state_tests(void)
{
    TCase *tc = tcase_create("saving_state");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, test_it_goes_on_to_the_same_bits, 0, N_STUDIED);
    tcase_add_loop_test(tc, test_it_goes_on_again_and_again, 0, N_STUDIED);
    tcase_add_test(tc, test_what_has_spilled_is_saved);
    tcase_add_test(tc, test_an_item_that_was_cleared_stays_cleared);
    tcase_add_loop_test(tc, test_loops_of_a_gradient_go_on, 0, 2);
    tcase_add_test(tc, test_a_state_that_is_not_saved_is_refused);
    tcase_add_test(tc, test_a_state_that_others_change_meanwhile_is_refused);
    tcase_add_test(tc, test_what_is_behind_a_handle_may_have_no_form);
    tcase_add_loop_test(tc, test_a_file_that_makes_no_sense_is_told, 0,
                        N_STUDIED);
    tcase_add_loop_test(tc, test_each_allocation_may_fail, 0, N_STUDIED - 1);
    tcase_add_test(tc, test_one_that_is_killed_goes_on);
    tcase_add_loop_test(tc, test_ranks_go_on_to_the_same_bits, 0, 2);
    return tc;
}
