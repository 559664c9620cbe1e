#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reference of the public headers, made of their declarations and comments.

    scripts/reference.py html FOLDER HEADER...   a page a header, and an index
    scripts/reference.py man FOLDER HEADER...    name.h.3 a header, and a page
                                                 for each function that is it

A header is read as what it looks like: a comment that stands right above a
declaration is about it and about those that follow without an empty line; one
of the kind `---- title ----` begins a section; the first is about the header.
Comments are plain text: paragraphs, lists with `-`, and what is indented by
four is code.
"""
import html
import os
import re
import sys
import textwrap

MARKS = re.compile(r"\b(EDDY_API|EDDY_MUST_USE)\s+|\s*\bEDDY_PRINTF\([^)]*\)")
GUARD = re.compile(r"#(ifndef EDDY_\w+_H|define EDDY_\w+_H$|include|if|else|elif"
                   r"|endif|undef|ifdef)|EDDY_(BEGIN|END)_DECLS")
WIDTH = 78


class Item:
    """Declarations that one comment is about; either may be missing."""

    def __init__(self, comment="", title=""):
        self.comment, self.title, self.declarations = comment, title, []

    def names(self):
        return [name for d in self.declarations for name in names_of(d)]


def plain(comment):
    """The text of a comment without what makes it one."""
    lines = comment[2:-2].split("\n")
    lines = [lines[0]] + [re.sub(r"^\s*\* ?", "", line) for line in lines[1:]]
    return textwrap.dedent("\n".join(line.rstrip() for line in lines)).strip(
        "\n ")


def names_of(declaration):
    """What a declaration declares, the values of an enumeration too."""
    text = re.sub(r"/\*.*?\*/", "", declaration, flags=re.S)
    if text.startswith("#define"):
        return [re.match(r"#define (\w+)", text).group(1)]
    found = []
    if re.match(r"(typedef )?enum", text):
        body = re.search(r"\{(.*)\}", text, re.S)
        found = re.findall(r"^\s*(EDDY_\w+)", body.group(1), re.M) if body else []
    callback = re.match(r"typedef [^;{]*?\(\*(\w+)\)", text)
    if callback:
        return [callback.group(1)]
    if text.startswith("typedef"):
        return [re.search(r"(\w+)\s*;$", text.strip()).group(1)] + found
    function = re.search(r"\b(eddy_\w+)\s*\(", text)
    return [function.group(1)] if function else found


def is_function(declaration):
    return "{" not in declaration and not declaration.startswith(
        ("#", "typedef")) and "(" in declaration


def chunks(text):
    """Comments, declarations and empty lines, in order."""
    at = 0
    while at < len(text):
        if text[at] == "\n":
            end = at + 1
            yield "empty", ""
        elif text.startswith("/*", at):
            end = text.index("*/", at) + 2
            yield "comment", text[at:end]
            end += text[end:end + 1] == "\n"
        elif text[at] == "#":
            end = at
            while True:
                end = text.index("\n", end) + 1
                if text[end - 2] != "\\":
                    break
            yield "macro", text[at:end].rstrip("\n")
        else:
            end, depth = at, 0
            line = text[at:text.index("\n", at)]
            if GUARD.match(line):
                yield "mark", line
                at += len(line) + 1
                continue
            while depth or text[end] != ";":
                if text.startswith("/*", end):
                    end = text.index("*/", end) + 1
                elif text[end] in "{(":
                    depth += 1
                elif text[end] in "})":
                    depth -= 1
                    if depth == 0 and text[end] == "}" and re.match(
                            r"\s*\n", text[end + 1:]):
                        break  # the body of an inline function
                end += 1
            yield "declaration", text[at:end + 1]
            end += 1
            # A comment on the same line belongs to the declaration.
            tail = re.match(r"[ \t]*(/\*.*?\*/)?[ \t]*\n?", text[end:], re.S)
            end += tail.end()
        at = end


def read(path):
    """The text about a header, and its items."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = re.sub(r"^/\* SPDX.*?\*/\n", "", text)
    about, items, current = None, [], None
    for kind, chunk in chunks(text):
        if kind == "comment" and about is None:
            about = plain(chunk)
        elif kind == "comment":
            title = re.match(r"-+ (.*?) -+$", plain(chunk))
            current = Item(title=title.group(1)) if title else Item(plain(chunk))
            items.append(current)
        elif kind == "empty":
            current = None
        elif kind == "mark" or GUARD.match(chunk):
            pass
        else:
            if current is None or current.title:
                current = Item()
                items.append(current)
            current.declarations.append(chunk)
    return about or "", [i for i in items
                         if i.title or i.comment or i.declarations]


def shown(declaration):
    """A declaration as it is shown: without marks, functions laid out anew."""
    text = MARKS.sub("", declaration)
    if not is_function(declaration):
        return re.sub(r" +\\$", r" \\", text, flags=re.M)
    text = re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", text, flags=re.S))
    if len(text) <= WIDTH:
        return text
    head, rest = text.split("(", 1)
    lines = [""]
    for parameter in re.split(r"(?<=,) ", rest):
        if len(lines[-1]) + len(parameter) > WIDTH - 4:
            lines.append("")
        lines[-1] += " " * bool(lines[-1]) + parameter
    return head + "(\n    " + "\n    ".join(line for line in lines if line)


def paragraphs(text):
    """(kind, text) of a comment: 'text', 'code', or 'list' with its entries."""
    block, kind = [], None
    for line in text.split("\n") + [""]:
        is_code = line.startswith("    ")
        if kind == "code" and (is_code or not line):
            block.append(line)
            continue
        if kind and (not line or is_code != (kind == "code")):
            if not (kind == "list" and line.startswith("  ") and not is_code):
                yield kind, "\n".join(block).strip("\n")
                block, kind = [], None
        if not line:
            continue
        if kind is None:
            kind = "code" if is_code else "list" if line.startswith(
                "- ") else "text"
        block.append(line)
    if block:
        yield kind, "\n".join(block).strip("\n")


def entries(text):
    return [re.sub(r"\s+", " ", e) for e in re.split(r"^- ", text, flags=re.M)
            if e.strip()]


def first_sentence(about):
    text = re.sub(r"\s+", " ", about.split("\n\n")[0])
    return re.split(r"(?<=[a-z)])[.:;](?= |$)", text)[0]


# ---- HTML ----

STYLE = """
body { font: 16px/1.5 Georgia, serif; max-width: 46em; margin: 2em auto;
  padding: 0 1em; color: #222; background: #fff; }
pre, code { font: 14px/1.45 monospace; }
pre { background: #f4f4f0; padding: .7em 1em; overflow-x: auto; }
h1, h2 { font-weight: normal; } h2 { margin-top: 2em; }
a { color: #024; } section { margin-top: 1.8em; }
section > pre { border-left: 3px solid #9ab; }
table { border-collapse: collapse; } td { padding: .1em 1.2em .1em 0;
  vertical-align: top; }
@media (prefers-color-scheme: dark) { body { background: #181818;
  color: #ddd; } pre { background: #242424; } a { color: #9cf; } }
"""


def page(title, body):
    return (f"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
            f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style></head>"
            f"\n<body>\n{body}\n</body></html>\n")


class Html:
    def __init__(self, headers):
        self.headers = headers
        self.where = {}  # name: page
        for path, (_, items) in headers.items():
            for item in items:
                for name in item.names():
                    self.where.setdefault(name, self.file(path))
        self.files = {"eddy/" + os.path.basename(p): self.file(p)
                      for p in headers}

    @staticmethod
    def file(path):
        return os.path.basename(path)[:-2] + ".html"

    def link(self, text, here=()):
        """Escaped, with names that are known as links."""
        def one(match):
            word = match.group()
            if word in self.files:
                return f'<a href="{self.files[word]}">{word}</a>'
            if word in self.where and word not in here:
                return f'<a href="{self.where[word]}#{word}">{word}</a>'
            return word
        text = html.escape(text, quote=False)
        return re.sub(r"\beddy/\w+\.h\b|\b(?:eddy|EDDY)_\w+", one, text)

    def prose(self, text):
        out = []
        for kind, block in paragraphs(text):
            if kind == "code":
                out.append(f"<pre>{self.link(textwrap.dedent(block))}</pre>")
                continue
            with_code = [re.sub(r"`([^`]+)`", r"<code>\1</code>", self.link(t))
                         for t in (entries(block) if kind == "list"
                                   else [block])]
            out.append("<ul>" + "".join(f"<li>{t}</li>" for t in with_code) +
                       "</ul>" if kind == "list" else f"<p>{with_code[0]}</p>")
        return "\n".join(out)

    def item(self, item):
        if item.title:
            return f"<h2>{html.escape(item.title)}</h2>"
        names = item.names()
        anchors = "".join(f'<a id="{n}"></a>' for n in names
                          if self.where.get(n))
        text = "\n".join(self.link(shown(d), names)
                         for d in item.declarations)
        return (f"<section>{anchors}" + (f"<pre>{text}</pre>" if text else "") +
                f"\n{self.prose(item.comment)}</section>")

    def write(self, folder):
        rows = []
        for path, (about, items) in self.headers.items():
            name = "eddy/" + os.path.basename(path)
            body = (f'<p><a href="index.html">eddy</a></p><h1>{name}</h1>\n' +
                    self.prose(about) + "\n" +
                    "\n".join(self.item(i) for i in items))
            write(folder, self.file(path), page(name, body))
            rows.append(f'<tr><td><a href="{self.file(path)}">{name}</a></td>'
                        f"<td>{html.escape(first_sentence(about))}</td></tr>")
        functions = sorted(n for n in self.where if n.startswith("eddy_"))
        index = ("<h1>eddy: the public headers</h1>\n<p>One include, "
                 "<code>#include &lt;eddy.h&gt;</code>, brings them all.</p>"
                 f"<table>{''.join(rows)}</table>\n<h2>Functions and types</h2>"
                 "<p>" + "<br>\n".join(self.link(n) for n in functions) + "</p>")
        write(folder, "index.html", page("eddy: the public headers", index))


# ---- the manual ----

def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def roff_prose(text):
    out = []
    for kind, block in paragraphs(text):
        if kind == "code":
            out.append(".PP\n.RS 4\n.nf\n" + roff(textwrap.dedent(block)) +
                       "\n.fi\n.RE")
        elif kind == "list":
            out += [".IP \\(bu 2\n" + roff(e) for e in entries(block)]
        else:
            block = re.sub(r"`([^`]+)`", r"\\fB\1\\fR", roff(block))
            out.append(".PP\n" + block)
    return "\n".join(out)


def write_manual(headers, folder, version):
    for path, (about, items) in headers.items():
        name = os.path.basename(path)
        title = f"eddy_{name}"
        out = [f'.TH {title} 3 "" "eddy {version}" "eddy"', ".SH NAME",
               f"{title} \\- {roff(first_sentence(about))}", ".SH SYNOPSIS",
               f".B #include <eddy/{name}>", ".SH DESCRIPTION",
               roff_prose(about)]
        for item in items:
            if item.title:
                out.append(f".SH {roff(item.title).upper()}")
                continue
            if item.declarations:
                text = "\n".join(shown(d) for d in item.declarations)
                out.append(".PP\n.nf\n.B\n" + roff(text) + "\n.fi")
            if item.comment:
                out.append(".RS 4\n" + roff_prose(item.comment) + "\n.RE")
        out.append('.SH SEE ALSO\n.BR eddy (1)')
        write(folder, f"{title}.3", "\n".join(out) + "\n")
        for item in items:
            for declaration in item.declarations:
                if is_function(declaration):
                    for function in names_of(declaration):
                        write(folder, f"{function}.3",
                              f".so man3/{title}.3\n")


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def main(arguments):
    if len(arguments) < 3 or arguments[0] not in ("html", "man"):
        sys.exit("usage: reference.py html|man FOLDER HEADER...")
    kind, folder = arguments[:2]
    headers = {p: read(p) for p in sorted(arguments[2:])}
    os.makedirs(folder, exist_ok=True)
    if kind == "html":
        Html(headers).write(folder)
        return
    with open(next(p for p in headers if p.endswith("/version.h")),
              encoding="utf-8") as file:
        numbers = re.findall(r"#define EDDY_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)",
                             file.read())
    write_manual(headers, folder, ".".join(numbers))


if __name__ == "__main__":
    main(sys.argv[1:])
