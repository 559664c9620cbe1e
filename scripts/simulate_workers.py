#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What 1 to 64 workers would make of a recorded run.

    eddy trace GRAPH.pb --fetch NAME... -o run.json
    scripts/simulate_workers.py GRAPH.pb run.json

The graph, a GraphDef of primitives as the run recorded it (no functions, not
optimized), says who waits for whom, the trace how long each node took.  One
driver takes ready nodes in order, as eddy's does: a node that took less than a
hand-over is worth runs on the driver, others on whichever worker is free first.
A kernel long enough is cut into parts for all workers that are idle when it
starts.  Memory bandwidth, caches and parallel_iterations know no limit here, so
each figure is what can be had at the most.
"""
import argparse
import heapq
import json
import re
import statistics

WORKERS = (1, 2, 4, 8, 16, 32, 64)


def fields(data):
    """The fields of a Protocol buffer: number and value."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
        elif kind == 2:
            n = varint()
            yield key >> 3, data[at:at + n]
            at += n
        else:
            n = 8 if kind == 1 else 4
            yield key >> 3, data[at:at + n]
            at += n


def read_graph(path):
    """Each node's op and the names of those that it waits for."""
    nodes = {}
    with open(path, 'rb') as file:
        graph = file.read()
    for number, node in fields(graph):
        if number != 1:
            continue
        name = op = ''
        inputs = []
        for field, value in fields(node):
            if field == 1:
                name = value.decode()
            elif field == 2:
                op = value.decode()
            elif field == 3:
                inputs.append(value.decode().lstrip('^').split(':')[0])
        nodes[name] = (op, inputs)
    return nodes


def parent_of(path):
    """outer[3]/inner[17] -> outer[3]; frames' names may have slashes."""
    found = re.fullmatch(r'(?:(.*\])/)?[^\]]*\[\d+\]', path)
    return (found.group(1) or '') if found else ''


def previous_of(path):
    """outer[3]/inner[17] -> outer[3]/inner[16]."""
    found = re.fullmatch(r'(.*)\[(\d+)\]', path)
    return f'{found.group(1)}[{int(found.group(2)) - 1}]' if found else path


def read_records(path):
    """Records in the order in which they began: name, path, nanoseconds.

    A node has its median time in all iterations: what else the machine did
    meanwhile is not to be simulated.
    """
    with open(path, encoding='utf-8') as file:
        events = json.load(file)['traceEvents']
    found = [(e['ts'], e['name'], e['args'].get('path') or '', e['dur'] * 1000)
             for e in events if e['ph'] == 'X' and e.get('cat') == 'live']
    found.sort(key=lambda record: record[0])
    times = {}
    for _, name, _, ns in found:
        times.setdefault(name, []).append(ns)
    usual = {name: statistics.median(ns) for name, ns in times.items()}
    return [(name, path, usual[name]) for _, name, path, _ in found]


def find_waits(nodes, records):
    """For each record the numbers of those that it waits for."""
    at, exits = {}, {}
    for i, (name, path, _) in enumerate(records):
        at[name, path] = i
        if nodes.get(name, ('',))[0] == 'Exit':
            exits[name, parent_of(path)] = i
    waits = []
    for i, (name, path, _) in enumerate(records):
        own = set()
        for source in nodes.get(name, ('', ()))[1]:
            op = nodes.get(source, ('',))[0]
            if op in ('Enter', 'RefEnter'):
                found = at.get((source, parent_of(path)))
            elif op in ('NextIteration', 'RefNextIteration'):
                found = at.get((source, previous_of(path)))
            elif op in ('Exit', 'RefExit'):
                found = exits.get((source, path))
            else:
                found = at.get((source, path))
            # A record that began later can't have been waited for.
            if found is not None and found < i:
                own.add(found)
        waits.append(own)
    return waits


def simulate(records, waits, n, options):
    """The time of a run with n threads, of which one at a time drives."""
    left = [len(own) for own in waits]
    readers = [[] for _ in records]
    for i, own in enumerate(waits):
        for source in own:
            readers[source].append(i)
    ready = [(0.0, i) for i, count in enumerate(left) if count == 0]
    heapq.heapify(ready)
    ready_at = [0.0] * len(records)
    free = [0.0] * n
    driver = end = 0.0
    while ready:
        begin, i = heapq.heappop(ready)
        ns = records[i][2]
        begin = max(begin, driver)
        if n == 1 or ns < options.worth:
            done = driver = begin + options.token + ns
        else:
            driver = begin + options.token + options.handing
            free.sort()
            start = max(free[0], driver)
            idle = sum(at <= start for at in free)
            parts = idle if options.parts and ns >= options.shared else 1
            parts = max(1, min(parts, int(ns // options.part)))
            done = start + ns / parts
            for worker in range(parts):
                free[worker] = done
        end = max(end, done)
        for reader in readers[i]:
            left[reader] -= 1
            ready_at[reader] = max(ready_at[reader], done)
            if left[reader] == 0:
                heapq.heappush(ready, (ready_at[reader], reader))
    return end


def longest_path(records, waits):
    """What no number of workers can be quicker than, without parts."""
    end = []
    for i, own in enumerate(waits):
        end.append(max((end[j] for j in own), default=0) + records[i][2])
    return max(end, default=0)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('graph')
    parser.add_argument('trace')
    for name, default, text in (
            ('worth', 8000, 'a kernel that is worth a hand-over'),
            ('handing', 2000, 'a hand-over'),
            ('token', 60, 'what the driver takes for a node'),
            ('shared', 12000, 'a kernel that is worth parts'),
            ('part', 8000, 'a part at the least')):
        parser.add_argument(f'--{name}', type=float, default=default,
                            help=f'{text}, ns ({default})')
    options = parser.parse_args()
    nodes, records = read_graph(options.graph), read_records(options.trace)
    if not records:
        parser.error('the trace has no live records')
    waits = find_waits(nodes, records)
    results = {}
    for options.parts in (False, True):
        results[options.parts] = [
            simulate(records, waits, n, options) for n in WORKERS]
    one = results[False][0]
    print(f'{len(records)} nodes, {one / 1e3:.0f} us by one, longest path '
          f'{longest_path(records, waits) / 1e3:.0f} us')
    print('workers' + ''.join(f'{n:>8}' for n in WORKERS))
    for parts, name in ((False, 'nodes'), (True, '+ parts')):
        print(f'{name:7}' + ''.join(f'{one / ns:8.2f}'
                                    for ns in results[parts]))


if __name__ == '__main__':
    main()
