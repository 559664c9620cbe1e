/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a loop in a loop that is cut over two ranks goes on on both of them
 * (docs/distributed.md, frames/partition).  Rank 0 has both predicates; in each
 * inner iteration it sends a value, and waits for what rank 1 makes of it:
 *
 *     rank 0                                rank 1: two control loops
 *     outer predicate  --- POUT[i] --->     an iteration of the outer one
 *     inner predicate  --- PIN[i,j] -->     an iteration of the inner one
 *     value            --- X[i,j] ---->     x
 *     wait             <-- Y[i,j] -----     f(x)
 *
 * An edge carries one message in each iteration, live or dead; messages of
 * different edges and iterations overtake each other freely.  Trips are left
 * open, and whether the loop is entered at all.  WINDOW0 and WINDOW1 are
 * parallel_iterations of the ranks, which need not be alike.  With KNOWN_DEAD
 * an edge from a body is left out of the iteration whose predicate is false:
 * neither is it sent, nor does anybody ask for it.  KNOWN_DEAD 2 has the inner
 * loop in a branch whose predicate both ranks have: where the inner loop is not
 * entered, rank 1 enters its control loop dead, and its predicate is not sent.
 *
 * What is held: no message is sent twice or asked for in vain, none is left;
 * an iteration outlives the frames that were entered from it; both ranks end.
 *
 * Run by scripts/model.sh, which also tries what must go wrong: WRONG 1 starts
 * inner control loops by the Switch in place of the Merge, 2 retires an
 * iteration without asking for its inner loop, 3 has rank 1 not know the branch.
 */
#ifndef OUTER
#define OUTER 2
#endif
#ifndef INNER
#define INNER 2
#endif
#ifndef WINDOW0
#define WINDOW0 2
#endif
#ifndef WINDOW1
#define WINDOW1 2
#endif
#ifndef KNOWN_DEAD
#define KNOWN_DEAD 0
#endif
#ifndef WRONG
#define WRONG 0
#endif

#define N_OUTER (OUTER + 1)
#define N_INNER (INNER + 1)
#define AT(i, j) ((i) * N_INNER + (j))

/* What an edge carries; a value that is live counts as TRUE. */
#define NOTHING 0
#define DEAD 1
#define FALSE 2
#define TRUE 3
#define TAKEN 4

byte POUT[N_OUTER], PIN[N_OUTER * N_INNER];
byte X[N_OUTER * N_INNER], Y[N_OUTER * N_INNER];

/* Of each frame: iterations started, retired, and that are wanted. */
byte outer_started[2], outer_retired[2], outer_wanted[2];
byte inner_started[2 * N_OUTER], inner_retired[2 * N_OUTER];
byte inner_wanted[2 * N_OUTER];
bool outer_over[2], inner_over[2 * N_OUTER];

/* Whether rank 0 enters its loops live. */
bool is_alive, inner_alive[N_OUTER];
/* Whether the branch around the inner loop is taken; what rank 1 makes of it. */
bool is_taken[N_OUTER], gate[N_OUTER];

#define WINDOW (rank == 0 -> WINDOW0 : WINDOW1)
#define FRAME (rank * N_OUTER + i)

inline put(edge, what)
{
    assert(edge == NOTHING);
    edge = what
}

/* Waits for it; nothing can be asked for twice. */
inline get(edge, what)
{
    atomic {
        edge != NOTHING;
        assert(edge != TAKEN);
        what = edge;
        edge = TAKEN
    }
}

/* An iteration of the inner loop of iteration `i` of the outer one. */
proctype inner(byte rank; byte i; byte j)
{
    byte goes_on, x;

end:
    atomic {
        inner_wanted[FRAME] > j && inner_started[FRAME] == j &&
            inner_started[FRAME] - inner_retired[FRAME] < WINDOW;
        inner_started[FRAME]++
    }
    if
#if KNOWN_DEAD == 2
    :: rank == 0 && !inner_alive[i] -> goes_on = DEAD
    :: rank == 1 && !gate[i] -> goes_on = DEAD
    :: rank == 0 && inner_alive[i] ->
#else
    :: rank == 0 ->
#endif
        atomic {
            if
            :: !inner_alive[i] -> goes_on = DEAD
            :: inner_alive[i] && j < INNER -> goes_on = TRUE
            :: inner_alive[i] -> goes_on = FALSE
            fi;
            put(PIN[AT(i, j)], goes_on)
        }
    :: else -> get(PIN[AT(i, j)], goes_on)
    fi;
    /* The next one waits for room beside what is left to do here. */
    atomic {
        if
        :: goes_on == TRUE -> inner_wanted[FRAME]++
        :: else
        fi
    }
#if KNOWN_DEAD
    if
    :: goes_on != TRUE -> goto done
    :: else
    fi;
#endif
    if
    :: rank == 0 ->
        atomic { put(X[AT(i, j)], (goes_on == TRUE -> TRUE : DEAD)) };
        get(Y[AT(i, j)], x)
    :: else ->
        get(X[AT(i, j)], x);
        atomic { put(Y[AT(i, j)], x) }
    fi;
    assert((x == TRUE) == (goes_on == TRUE));
done:
    atomic {
        inner_retired[FRAME] == j;
        assert(outer_retired[rank] <= i);
        inner_retired[FRAME]++;
        inner_over[FRAME] = goes_on != TRUE;
        goes_on = 0;
        x = 0
    }
}

/* An iteration of the outer loop. */
proctype outer(byte rank; byte i)
{
    byte goes_on;

end:
    atomic {
        outer_wanted[rank] > i && outer_started[rank] == i &&
            outer_started[rank] - outer_retired[rank] < WINDOW;
        outer_started[rank]++;
        /* By the Merge: in the last iteration too, where all comes dead. */
        if
        :: rank == 1 && WRONG != 1 && KNOWN_DEAD != 2 -> inner_wanted[FRAME]++
        :: else
        fi
    }
    if
    :: rank == 0 ->
        atomic {
            if
            :: !is_alive -> goes_on = DEAD
            :: is_alive && i < OUTER -> goes_on = TRUE
            :: is_alive -> goes_on = FALSE
            fi;
            put(POUT[i], goes_on);
            inner_alive[i] = goes_on == TRUE && is_taken[i];
            inner_wanted[FRAME]++
        }
    :: else -> get(POUT[i], goes_on)
    fi;
    atomic {
        if
        :: goes_on == TRUE -> outer_wanted[rank]++
        :: else
        fi;
#if KNOWN_DEAD == 2
        if
        :: rank == 1 ->
            gate[i] = goes_on == TRUE && (is_taken[i] || WRONG == 3);
            inner_wanted[FRAME]++
        :: else
        fi;
#endif
#if WRONG == 1
        /* By the Switch: whoever sends in a last iteration is not heard. */
        if
        :: rank == 1 && goes_on == TRUE -> inner_wanted[FRAME]++
        :: rank == 1 && goes_on != TRUE -> inner_over[FRAME] = true
        :: else
        fi
#endif
    }
    atomic {
        outer_retired[rank] == i && (inner_over[FRAME] || WRONG == 2);
        outer_retired[rank]++;
        outer_over[rank] = goes_on != TRUE;
        goes_on = 0
    }
}

init
{
    byte rank, i, j;

    atomic {
        if
        :: is_alive = true
        :: is_alive = false
        fi;
        for (i : 0 .. N_OUTER - 1) {
            if
            :: is_taken[i] = true
            :: KNOWN_DEAD == 2 -> is_taken[i] = false
            fi
        }
        outer_wanted[0] = 1;
        outer_wanted[1] = 1;
        for (rank : 0 .. 1) {
            for (i : 0 .. N_OUTER - 1) {
                run outer(rank, i);
                for (j : 0 .. N_INNER - 1) {
                    run inner(rank, i, j)
                }
            }
        }
        rank = 0;
        i = 0;
        j = 0
    }
    timeout; /* nobody can do anything any more */
    assert(outer_over[0] && outer_over[1]);
    assert(outer_started[0] == outer_started[1]);
    assert(outer_retired[0] == outer_started[0]);
    assert(outer_retired[1] == outer_started[1]);
    d_step {
        for (i : 0 .. N_OUTER - 1) {
            assert(POUT[i] == NOTHING || POUT[i] == TAKEN);
            assert(inner_started[i] == inner_started[N_OUTER + i]);
            assert(inner_started[i] == inner_wanted[i]);
            assert(inner_retired[i] == inner_started[i]);
            assert(inner_retired[N_OUTER + i] == inner_started[i]);
            assert(inner_started[i] == 0 || inner_over[i]);
            for (j : 0 .. N_INNER - 1) {
                assert(PIN[AT(i, j)] == NOTHING || PIN[AT(i, j)] == TAKEN);
                assert(X[AT(i, j)] == NOTHING || X[AT(i, j)] == TAKEN);
                assert(Y[AT(i, j)] == NOTHING || Y[AT(i, j)] == TAKEN)
            }
        }
    }
}
