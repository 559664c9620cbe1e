/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How frames and iterations live in the dynamic executor (runtime/exec/dynamic),
 * for a loop in a loop whose nodes run in any order:
 *
 *     c, v = 0, x
 *     while c < OUTER (or earlier):       c runs ahead of v
 *         v = inner(v)                    0 to INNER trips
 *         c = c + 1
 *
 * which is, in the primitives,
 *
 *     EC -> MC -> P -> SC -> NC, XC       EV -> MV -> SV -> E, XV
 *                 P -> SV                 E -> M -> Q -> S -> N, X -> NV
 *
 * Whether the loop is entered live or dead, and how many trips there are, is
 * left open.  PARALLEL iterations of a frame may be outstanding.
 *
 * What is held: no token comes to an iteration that has been retired; no more
 * than PARALLEL are outstanding; they are retired in order; each Exit gives one
 * token, live or dead, to the frame around; and in the end nothing is left.
 *
 * Run by scripts/model.sh, which also tries what must go wrong: WRONG 1 retires
 * an iteration from which a frame lives, 2 forgets a parked NextIteration, 3
 * does not wait for all Enters.
 */
#ifndef OUTER
#define OUTER 2
#endif
#ifndef INNER
#define INNER 1
#endif
#ifndef PARALLEL
#define PARALLEL 2
#endif
#ifndef WRONG
#define WRONG 0
#endif

#define OUTER_ITERATIONS (OUTER + 1)
#define INNER_ITERATIONS (INNER + 1)

/* Nodes of an iteration of the outer loop, and of the inner one. */
#define MC 0
#define MV 1
#define P 2
#define SC 3
#define SV 4
#define E 5
#define NC 6
#define NV 7
#define XC 8
#define XV 9
#define N_OUTER 10

#define M 0
#define Q 1
#define S 2
#define N 3
#define X 4
#define N_INNER 5

#define LIVE 0
#define DEAD 1

/* Of a node in an iteration: inputs that have come, and what it is. */
#define WAITING 0
#define READY_LIVE 1
#define READY_DEAD 2
#define DONE 3

/* Of an iteration. */
#define UNBORN 0
#define STARTED 1
#define RETIRED 2

typedef outer_iteration {
    byte node[N_OUTER];
    byte came[N_OUTER];  /* inputs */
    bool dead[N_OUTER];  /* one of them was */
    bool goes_on;        /* what P said */
    byte outstanding;    /* nodes ready */
    byte state;
    bool has_child;      /* a live frame of the inner loop */
    /* that frame */
    byte n_outstanding, n_started, oldest;
    bool enter_came, parked, exited;
}

typedef inner_iteration {
    byte node[N_INNER];
    byte came[N_INNER];
    bool dead[N_INNER];
    bool goes_on;
    byte outstanding;
    byte state;
}

outer_iteration outer[OUTER_ITERATIONS];
inner_iteration inner[OUTER_ITERATIONS * INNER_ITERATIONS];

/* The frame of the outer loop. */
byte n_outstanding, n_started, oldest, n_enters;
bool parked_c, parked_v, exited_c, exited_v;
bool is_alive, is_over;
byte n_exits; /* tokens that came out */

#define INSIDE(i, j) inner[(i) * INNER_ITERATIONS + (j)]

/* A token for a node of `wanted` inputs. */
inline send(it, n, wanted, is_dead)
{
    assert(it.state == STARTED);
    it.came[n]++;
    if
    :: is_dead == DEAD -> it.dead[n] = true
    :: else
    fi;
    if
    :: it.came[n] == wanted ->
        assert(it.node[n] == WAITING);
        it.node[n] = (it.dead[n] -> READY_DEAD : READY_LIVE);
        it.outstanding++
    :: else
    fi
}

inline begin_outer()
{
    assert(n_started < OUTER_ITERATIONS);
    outer[n_started].state = STARTED;
    n_started++;
    n_outstanding++;
    assert(n_outstanding <= PARALLEL)
}

inline begin_inner(i)
{
    assert(outer[i].n_started < INNER_ITERATIONS);
    INSIDE(i, outer[i].n_started).state = STARTED;
    outer[i].n_started++;
    outer[i].n_outstanding++;
    assert(outer[i].n_outstanding <= PARALLEL)
}

/* A live NextIteration of iteration `i` of the outer loop. */
inline go_on_outer(i, merge, is_parked)
{
    if
    :: i + 1 < n_started -> send(outer[i + 1], merge, 1, LIVE)
    :: else ->
        if
        :: n_outstanding == PARALLEL -> is_parked = true
        :: else ->
            begin_outer();
            send(outer[i + 1], merge, 1, LIVE)
        fi
    fi
}

inline go_on_inner(i, j)
{
    if
    :: outer[i].n_outstanding == PARALLEL -> outer[i].parked = true
    :: else ->
        begin_inner(i);
        send(INSIDE(i, j + 1), M, 1, LIVE)
    fi
}

/* Retires what is done of the inner frame of `i`, and then the frame. */
inline settle_inner(i)
{
    do
    :: outer[i].n_outstanding > 0 && outer[i].enter_came &&
       INSIDE(i, outer[i].oldest).outstanding == 0 ->
        INSIDE(i, outer[i].oldest).state = RETIRED;
        outer[i].oldest++;
        outer[i].n_outstanding--;
        if
        :: outer[i].parked ->
            outer[i].parked = false;
            begin_inner(i);
            send(INSIDE(i, outer[i].n_started - 1), M, 1, LIVE)
        :: else
        fi
    :: else -> break
    od;
    if
    :: outer[i].n_outstanding == 0 && outer[i].enter_came &&
       outer[i].has_child ->
        outer[i].has_child = false;
        if
        :: !outer[i].exited -> send(outer[i], NV, 1, DEAD)
        :: else
        fi
    :: else
    fi
}

inline settle_outer()
{
    do
    :: n_outstanding > 0 && (n_enters == 2 || WRONG == 3) &&
       oldest < n_started &&
       outer[oldest].outstanding == 0 &&
       (!outer[oldest].has_child || WRONG == 1) ->
        assert(outer[oldest].state == STARTED);
        outer[oldest].state = RETIRED;
        oldest++;
        n_outstanding--;
        if
        :: parked_c || parked_v ->
            begin_outer();
            if
            :: parked_c ->
                parked_c = false;
                send(outer[n_started - 1], MC, 1, LIVE)
            :: else
            fi;
            if
            :: parked_v && WRONG != 2 ->
                parked_v = false;
                send(outer[n_started - 1], MV, 1, LIVE)
            :: else
            fi
        :: else
        fi
    :: else -> break
    od;
    if
    :: n_outstanding == 0 && n_enters == 2 && !is_over ->
        is_over = true;
        n_exits = n_exits + !exited_c + !exited_v
    :: else
    fi
}

inline run_outer(i, n, d)
{
    if
    :: n == MC -> send(outer[i], P, 1, d); send(outer[i], SC, 2, d)
    :: n == MV -> send(outer[i], SV, 2, d)
    :: n == P ->
        if
        :: d == LIVE && i < OUTER -> outer[i].goes_on = true
        :: true
        fi;
        send(outer[i], SC, 2, d);
        send(outer[i], SV, 2, d)
    :: n == SC ->
        send(outer[i], NC, 1, d || !outer[i].goes_on);
        send(outer[i], XC, 1, d || outer[i].goes_on)
    :: n == SV ->
        send(outer[i], E, 1, d || !outer[i].goes_on);
        send(outer[i], XV, 1, d || outer[i].goes_on)
    :: n == E ->
        outer[i].has_child = true;
        begin_inner(i);
        outer[i].enter_came = true;
        send(INSIDE(i, 0), M, 1, d)
    :: n == NC && d == LIVE -> go_on_outer(i, MC, parked_c)
    :: n == NV && d == LIVE -> go_on_outer(i, MV, parked_v)
    :: n == XC && d == LIVE ->
        assert(!exited_c);
        exited_c = true;
        n_exits++
    :: n == XV && d == LIVE ->
        assert(!exited_v);
        exited_v = true;
        n_exits++
    :: else
    fi
}

inline run_inner(i, j, n, d)
{
    if
    :: n == M -> send(INSIDE(i, j), Q, 1, d); send(INSIDE(i, j), S, 2, d)
    :: n == Q ->
        if
        :: d == LIVE && j < INNER -> INSIDE(i, j).goes_on = true
        :: true
        fi;
        send(INSIDE(i, j), S, 2, d)
    :: n == S ->
        send(INSIDE(i, j), N, 1, d || !INSIDE(i, j).goes_on);
        send(INSIDE(i, j), X, 1, d || INSIDE(i, j).goes_on)
    :: n == N && d == LIVE -> go_on_inner(i, j)
    :: n == X && d == LIVE ->
        assert(!outer[i].exited);
        outer[i].exited = true;
        send(outer[i], NV, 1, LIVE)
    :: else
    fi
}

/* A node in an iteration, which runs once or never. */
proctype outer_node(byte i; byte n)
{
    bool d;

end:
    atomic {
        outer[i].node[n] == READY_LIVE || outer[i].node[n] == READY_DEAD;
        d = outer[i].node[n] == READY_DEAD;
        outer[i].node[n] = DONE;
        run_outer(i, n, d);
        outer[i].outstanding--;
        settle_outer();
        d = 0
    }
}

proctype inner_node(byte i; byte j; byte n)
{
    bool d;

end:
    atomic {
        INSIDE(i, j).node[n] == READY_LIVE ||
            INSIDE(i, j).node[n] == READY_DEAD;
        d = INSIDE(i, j).node[n] == READY_DEAD;
        INSIDE(i, j).node[n] = DONE;
        run_inner(i, j, n, d);
        INSIDE(i, j).outstanding--;
        settle_inner(i);
        settle_outer();
        d = 0
    }
}

/* An Enter of the outer loop, in the root. */
proctype enter(byte merge)
{
    bool d;

    atomic {
        d = !is_alive;
        if
        :: n_started == 0 -> begin_outer()
        :: else
        fi;
        n_enters++;
        send(outer[0], merge, 1, d);
        settle_outer();
        d = 0
    }
}

init
{
    byte i, j, n;

    atomic {
        if
        :: is_alive = true
        :: is_alive = false
        fi;
        run enter(MC);
        run enter(MV);
        for (i : 0 .. OUTER_ITERATIONS - 1) {
            for (n : 0 .. N_OUTER - 1) {
                run outer_node(i, n)
            }
            for (j : 0 .. INNER_ITERATIONS - 1) {
                for (n : 0 .. N_INNER - 1) {
                    run inner_node(i, j, n)
                }
            }
        }
        i = 0;
        j = 0;
        n = 0
    }
    timeout;
    assert(is_over);
    assert(n_exits == 2);
    assert(oldest == n_started && n_outstanding == 0);
    assert(!parked_c && !parked_v);
    for (i : 0 .. OUTER_ITERATIONS - 1) {
        assert(outer[i].state != STARTED && !outer[i].has_child);
        assert(!outer[i].parked && outer[i].n_outstanding == 0)
    }
}
