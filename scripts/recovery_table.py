#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/recovery.txt: the loops and branches of the recorded graphs.

    scripts/recovery_table.py [FOLDER [OUT]]

This shares nothing with eddy, so that the two can be held against each other.
It reads the bytes of a GraphDef itself.  Frames are found as a fixpoint of
paths of frame names, loop variables from their Exits and Merges backwards,
trips by counting them, and branches by evaluating when a node lives, as a
function of all predicates of its frame: decision diagrams with a child for each
side.  A node is in a branch if that function is a conjunction of sides that
Switches nest in that way; if it is anything else, the node is `mixed`.

A graph's facts, sorted, follow the line with its name:

    frame NAME PARENT PREDICATE
    variable FRAME ENTER MERGE SWITCH NEXT EXIT
    invariant FRAME ENTER
    trips FRAME MERGE COUNT [and more]
    branch FRAME SIDES NODES HASH

SIDES are PREDICATE:SIDE, sorted, with commas between, `-` if there are none, or
`mixed`; HASH is of the names of the nodes, sorted, each with a line feed: 64
bits of FNV-1a.  `-` stands for the root frame and for what is missing.
"""
import os
import struct
import sys

SWITCHES = ('Switch', 'RefSwitch', '_SwitchN')
MERGES = ('Merge', 'RefMerge')
ENTERS = ('Enter', 'RefEnter')
EXITS = ('Exit', 'RefExit')
NEXTS = ('NextIteration', 'RefNextIteration')
PRIMITIVES = SWITCHES + MERGES + ENTERS + EXITS + NEXTS
PASSING = ('Identity', 'StopGradient', 'PreventGradient')
COUNTED = 1000000  # more trips are not counted

# Recorded graphs that are wrong in themselves, so that nothing is recovered.
REFUSED = ['errors/' + name for name in (
    'bad_attr_type', 'cycle_plain', 'cycle_self', 'duplicate_node',
    'exit_outside', 'frames_mixed', 'invalid_wire', 'merge_no_inputs',
    'missing_attr', 'missing_input_node', 'output_index', 'too_few_inputs',
    'wrong_dtype_attr')]


# ---- the wire format -------------------------------------------------------

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value & (1 << 64) - 1, at


def fields(data):
    """(field number, value) of a message; bytes, or an unsigned number."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            if at + size > len(data):
                raise ValueError('cut short')
            value, at = data[at:at + size], at + size
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = data[at:at + size], at + size
        else:
            raise ValueError('wire type %d' % kind)
        yield key >> 3, value


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def numbers(value):
    """A repeated number, packed or not."""
    if isinstance(value, int):
        return [signed(value)]
    found, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        found.append(signed(number))
    return found


# DataType: the format of struct, lowest and highest value.
INTEGERS = {3: ('<i', 32), 9: ('<q', 64), 5: ('<h', 16), 6: ('<b', 8)}


def integer_of(tensor):
    """(value, bits) of a TensorProto of one signed integer, or None."""
    dtype, content, values, count = 0, b'', [], 1
    for field, value in fields(tensor):
        if field == 1:
            dtype = value
        elif field == 2:
            for number, dim in fields(value):
                if number == 2:
                    sizes = [signed(v) for f, v in fields(dim) if f == 1]
                    count *= sizes[0] if sizes else 0
        elif field == 4:
            content = value
        elif field in (7, 10):
            values += numbers(value)
    if dtype not in INTEGERS or count != 1:
        return None
    form, bits = INTEGERS[dtype]
    if content:
        return struct.unpack(form, content)[0], bits
    return (values[0] if values else 0), bits


class Node:
    def __init__(self, message):
        self.name = self.op = ''
        self.data, self.controls, self.attrs = [], [], {}
        for field, value in fields(message):
            if field == 1:
                self.name = value.decode()
            elif field == 2:
                self.op = value.decode()
            elif field == 3:
                self.add_input(value.decode())
            elif field == 5:
                entry = dict(fields(value))
                self.attrs[entry[1].decode()] = dict(fields(entry.get(2, b'')))

    def add_input(self, text):
        if text.startswith('^'):
            if text[1:] not in self.controls:
                self.controls.append(text[1:])
            return
        name, _, index = text.partition(':')
        self.data.append((name, int(index or 0)))

    def is_constant_enter(self):
        return self.op in ENTERS and bool(
            self.attrs.get('is_constant', {}).get(5, 0))

    def n_outputs(self):
        if self.op == '_SwitchN':
            return self.attrs['num_outs'][3]
        return 2


def read(path):
    with open(path, 'rb') as file:
        data = file.read()
    nodes = [Node(value) for field, value in fields(data) if field == 1]
    return {node.name: node for node in nodes}


# ---- frames ----------------------------------------------------------------

def find_paths(nodes):
    """name -> the frames that the node runs in, outermost first."""
    paths = {}

    def outputs(node):
        path = paths[node.name]
        if node.op in ENTERS:
            return path + (node.attrs['frame_name'][2].decode(),)
        return path[:-1] if node.op in EXITS else path

    changed = True
    while changed:
        changed = False
        for node in nodes.values():
            sources = [name for name, _ in node.data] + node.controls
            known = {outputs(nodes[s]) for s in sources if s in paths}
            if not sources:
                known = {()}
            if len(known) > 1:
                raise ValueError('%s is in two frames' % node.name)
            if known and node.name not in paths:
                paths[node.name] = known.pop()
                changed = True
    if len(paths) != len(nodes):
        raise ValueError('nodes that nothing reaches')
    if any(not paths[n.name] for n in nodes.values() if n.op in EXITS + NEXTS):
        raise ValueError('outside of any frame')
    return paths


# ---- loops -----------------------------------------------------------------

def variables_of(nodes):
    """The five nodes of each variable, from Exits and Merges backwards."""
    def source(node, i):
        return nodes[node.data[i][0]]

    ends = {}  # a Merge: its Switch and Exit
    for node in nodes.values():
        if node.op in EXITS and node.data[0][1] == 0:
            switch = source(node, 0)
            if switch.op in SWITCHES and source(switch, 1).op == 'LoopCond':
                ends[switch.data[0][0]] = (switch.name, node.name)
    for node in nodes.values():
        if node.op in SWITCHES and source(node, 1).op == 'LoopCond':
            ends.setdefault(node.data[0][0], (node.name, '-'))
    found, entered = [], set()
    for merge in nodes.values():
        if merge.op not in MERGES:
            continue
        feeds = [nodes[name] for name, _ in merge.data]
        nexts = [n.name for n in feeds if n.op in NEXTS]
        for enter in feeds:
            if enter.op in ENTERS and not enter.is_constant_enter():
                entered.add(enter.name)
                found.append((enter.name, merge.name) + (
                    ends[merge.name][0] if merge.name in ends else '-',
                    nexts[0] if nexts else '-',
                    ends[merge.name][1] if merge.name in ends else '-'))
    for node in nodes.values():
        if node.op in ENTERS and not node.is_constant_enter() and \
                node.name not in entered:
            found.append((node.name,) + 4 * ('-',))
    return found


def trace(nodes, output, unchanged):
    """Where a value comes from, if it is the same on the way."""
    while True:
        node = nodes[output[0]]
        if node.op in SWITCHES and output[1] == 1 and \
                nodes[node.data[1][0]].op == 'LoopCond':
            output = node.data[0]
        elif node.op in PASSING or node.is_constant_enter():
            output = node.data[0]
        elif output in unchanged:
            output = unchanged[output]
        else:
            return output


def unchanged_variables(nodes, variables):
    """The Merges of variables that no trip changes, and what they are."""
    unchanged = {}
    for enter, merge, switch, following, _ in variables:
        if '-' in (switch, following) or len(nodes[merge].data) != 2:
            continue
        if trace(nodes, nodes[following].data[0], {}) == (merge, 0):
            unchanged[merge, 0] = nodes[enter].data[0]
    return unchanged


def constant(nodes, output, unchanged):
    node = nodes[trace(nodes, output, unchanged)[0]]
    while node.op in SWITCHES:
        node = nodes[trace(nodes, node.data[0], unchanged)[0]]
    if node.op != 'Const' or 'value' not in node.attrs:
        return None
    return integer_of(node.attrs['value'].get(8, b''))


def terms_of(nodes, output, unchanged):
    output = trace(nodes, output, unchanged)
    node = nodes[output[0]]
    if node.op == 'LogicalAnd':
        return terms_of(nodes, node.data[0], unchanged) + \
            terms_of(nodes, node.data[1], unchanged)
    return [output]


HOLDS = {
    'Less': lambda x, y: x < y,
    'LessEqual': lambda x, y: x <= y,
    'Greater': lambda x, y: x > y,
    'GreaterEqual': lambda x, y: x >= y,
    'NotEqual': lambda x, y: x != y,
}


def count_trips(nodes, variable, term, unchanged):
    """How often the body runs while `term` holds; None if that is unknown."""
    enter, merge, switch, following, _ = variable
    if '-' in (switch, following) or term.op not in HOLDS:
        return None
    now = {(merge, 0)}
    sides = [trace(nodes, side, unchanged) for side in term.data]
    step = nodes[trace(nodes, nodes[following].data[0], unchanged)[0]]
    if len([side for side in sides if side in now]) != 1 or \
            step.op not in ('Add', 'AddV2', 'Sub'):
        return None
    parts = [trace(nodes, part, unchanged) for part in step.data]
    by = [part for part in parts if part not in now]
    if len(by) != 1 or (step.op == 'Sub' and parts[0] not in now):
        return None
    start = constant(nodes, nodes[enter].data[0], unchanged)
    limit = constant(nodes, sides[sides[0] in now], unchanged)
    by = constant(nodes, by[0], unchanged)
    if None in (start, limit, by):
        return None
    by = -by[0] if step.op == 'Sub' else by[0]
    value, trips = start[0], 0
    while HOLDS[term.op](*((value, limit[0]) if sides[0] in now else
                           (limit[0], value))):
        value, trips = value + by, trips + 1
        if trips > COUNTED or not -1 << start[1] - 1 <= value < 1 << start[1] - 1:
            return None
    return trips


def trip_facts(nodes, frame, loop_cond, variables, unchanged):
    terms = terms_of(nodes, nodes[loop_cond].data[0], unchanged)
    for output in terms:
        for variable in variables:
            trips = count_trips(nodes, variable, nodes[output[0]],
                                unchanged)
            if trips is not None:
                yield 'trips %s %s %d%s' % (
                    frame, variable[1], trips,
                    '' if len(terms) == 1 else ' and more')
                return


# ---- when a node lives: decision diagrams ----------------------------------

class Diagrams:
    """Functions of choices: True, False, or (variable, a child a side)."""

    def __init__(self):
        self.sizes, self.order, self.known = {}, {}, {}

    def side(self, variable, side, n_sides):
        self.sizes[variable] = max(n_sides, self.sizes.get(variable, 0))
        self.order.setdefault(variable, len(self.order))
        return (variable,) + tuple(i == side for i in range(n_sides))

    def combine(self, is_and, f, g):
        if isinstance(f, bool):
            return g if f == is_and else f
        if isinstance(g, bool):
            return f if g == is_and else g
        key = (is_and, f, g)
        if key in self.known:
            return self.known[key]
        top = min(f[0], g[0], key=lambda v: self.order[v])
        n = self.sizes[top]
        fs = f[1:] if f[0] == top else n * (f,)
        gs = g[1:] if g[0] == top else n * (g,)
        parts = tuple(self.combine(is_and, a, b) for a, b in zip(fs, gs))
        result = parts[0] if all(p == parts[0] for p in parts) else \
            (top,) + parts
        self.known[key] = result
        return result

    def all_of(self, functions):
        result = True
        for f in functions:
            result = self.combine(True, result, f)
        return result

    def any_of(self, functions):
        result = False
        for f in functions:
            result = self.combine(False, result, f)
        return result

    def conjunction(self, f):
        """{variable: side} if the function is one, else None."""
        sides = {}
        while not isinstance(f, bool):
            taken = [i for i, part in enumerate(f[1:]) if part is not False]
            if len(taken) != 1:
                return None
            sides[f[0]] = taken[0]
            f = f[1 + taken[0]]
        return frozenset(sides.items()) if f else None


class Liveness:
    def __init__(self, nodes, paths):
        self.nodes, self.paths = nodes, paths
        self.diagrams = Diagrams()
        self.lives, self.open = {}, set()
        self.enters = {}  # a frame's path: its Enters
        for node in nodes.values():
            if node.op in ENTERS:
                path = paths[node.name] + (
                    node.attrs['frame_name'][2].decode(),)
                self.enters.setdefault(path, []).append(node.name)

    def is_branch(self, switch):
        return self.nodes[switch.data[1][0]].op != 'LoopCond'

    def predicate(self, switch):
        name, index = switch.data[1]
        while index == 0 and self.nodes[name].op in PASSING:
            name, index = self.nodes[name].data[0]
        return name + ('#%d' % index if index else '')

    def needs(self, node):
        """The nodes whose liveness this one's depends on."""
        if node.op == 'ControlTrigger':
            return []
        if node.op in MERGES and self.is_loop_merge(node):
            return []
        needed = [name for name, _ in node.data]
        if node.op not in MERGES:
            needed += node.controls
        found = []
        for name in needed:
            source = self.nodes[name]
            if source.op in EXITS:
                found += self.enters[self.paths[name]]
            elif source.op not in ENTERS:
                found.append(name)
        return found

    def is_loop_merge(self, node):
        return any(self.nodes[name].op in ENTERS + NEXTS
                   for name, _ in node.data)

    def of_output(self, name, index):
        """When it lives, given that its frame's iteration runs."""
        node = self.nodes[name]
        if node.op in ENTERS:
            return True
        if node.op in EXITS:
            return self.diagrams.all_of(
                self.lives[e] for e in self.enters[self.paths[name]]
                if e in self.lives)
        lives = self.lives[name]
        if index is not None and node.op in SWITCHES and self.is_branch(node):
            return self.diagrams.combine(True, lives, self.diagrams.side(
                self.predicate(node), index, node.n_outputs()))
        return lives

    def evaluate(self, node):
        if node.op == 'ControlTrigger':
            return True
        if node.op in MERGES:
            if self.is_loop_merge(node):
                return True
            return self.diagrams.any_of(
                self.of_output(*output) for output in node.data)
        return self.diagrams.all_of(
            [self.of_output(*output) for output in node.data] +
            [self.of_output(name, None) for name in node.controls])

    def find(self):
        for root in self.nodes.values():
            stack = [root]
            while stack:
                node = stack[-1]
                if node.name in self.lives:
                    stack.pop()
                    continue
                missing = [self.nodes[n] for n in self.needs(node)
                           if n not in self.lives and n not in self.open]
                self.open.add(node.name)
                if missing:
                    stack.extend(missing)
                    continue
                self.lives[node.name] = self.evaluate(node)
                stack.pop()


def nested_branches(liveness):
    """Conjunctions that Switches make, each in another, by frame."""
    made = {}
    for node in liveness.nodes.values():
        if node.op in SWITCHES and liveness.is_branch(node):
            around = liveness.diagrams.conjunction(liveness.lives[node.name])
            made.setdefault(liveness.paths[node.name], []).append(
                (around, liveness.predicate(node), node.n_outputs()))
    nested = {}
    for path, switches in made.items():
        found = {frozenset()}
        size = 0
        while size != len(found):
            size = len(found)
            for around, predicate, n in switches:
                if around in found and predicate not in dict(around):
                    found |= {around | {(predicate, i)} for i in range(n)}
        nested[path] = found
    return nested


def branch_facts(nodes, paths):
    liveness = Liveness(nodes, paths)
    liveness.find()
    nested = nested_branches(liveness)
    groups = {}
    for name, path in paths.items():
        sides = liveness.diagrams.conjunction(liveness.lives[name])
        if sides is None or (sides and sides not in nested.get(path, ())):
            text = 'mixed'
        else:
            text = ','.join(sorted('%s:%d' % side for side in sides)) or '-'
        groups.setdefault((path[-1] if path else '-', text), []).append(name)
    for (frame, text), names in groups.items():
        code = 0xcbf29ce484222325
        for byte in ''.join(n + '\n' for n in sorted(names)).encode():
            code = (code ^ byte) * 0x100000001b3 & (1 << 64) - 1
        yield 'branch %s %s %d %016x' % (frame, text, len(names), code)


# ---- the table -------------------------------------------------------------

def facts(nodes):
    paths = find_paths(nodes)
    found = []
    variables, conds = {}, {}
    frame_of = {}
    for node in nodes.values():
        if node.op in ENTERS:
            frame = node.attrs['frame_name'][2].decode()
            path = paths[node.name]
            frame_of[frame] = path[-1] if path else '-'
            if node.is_constant_enter():
                found.append('invariant %s %s' % (frame, node.name))
        elif node.op == 'LoopCond':
            conds[paths[node.name][-1]] = node.name
    all_variables = variables_of(nodes)
    unchanged = unchanged_variables(nodes, all_variables)
    for variable in all_variables:
        frame = nodes[variable[0]].attrs['frame_name'][2].decode()
        variables.setdefault(frame, []).append(variable)
        found.append('variable %s %s' % (frame, ' '.join(variable)))
    for frame, parent in frame_of.items():
        predicate = '-'
        if frame in conds:
            name, index = nodes[conds[frame]].data[0]
            predicate = name + ('#%d' % index if index else '')
            found += trip_facts(nodes, frame, conds[frame],
                                variables.get(frame, []), unchanged)
        found.append('frame %s %s %s' % (frame, parent, predicate))
    return sorted(found + list(branch_facts(nodes, paths)))


def table(folder):
    for where, folders, files in sorted(os.walk(folder)):
        name = os.path.relpath(where, folder)
        if 'graph.pb' not in files or name in REFUSED:
            continue
        nodes = read(os.path.join(where, 'graph.pb'))
        if any(node.op in PRIMITIVES for node in nodes.values()):
            yield name
            for fact in facts(nodes):
                yield ' ' + fact


def main():
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
    folder = sys.argv[1] if len(sys.argv) > 1 else \
        os.path.join(root, 'tests', 'conformance', 'tf')
    out = sys.argv[2] if len(sys.argv) > 2 else \
        os.path.join(root, 'tests', 'recovery.txt')
    with open(out, 'w') as file:
        for line in table(folder):
            file.write(line + '\n')


main()
