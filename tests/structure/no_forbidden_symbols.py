#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An object file that holds an engine ends no process, prints nothing, reads no environment and
defines no mutable global: no_forbidden_symbols.py NM OBJDUMP OBJECT...

A mutable global is an object in a writable section. Tables of pointers lie in .data.rel.ro, which
is read-only once the program is loaded, so the section decides and not nm's letter.
"""
import re
import subprocess
import sys

import source

FORBIDDEN = re.compile(
    r"^(abort|exit|_exit|_Exit|quick_exit|raise|kill"
    r"|(__)?v?[fsd]?n?printf(_chk)?|(__)?v?(f|s|sn|d)printf_chk|puts|fputs|putchar|fputc|putc|perror|fwrite|syslog"
    r"|getenv|secure_getenv"
    r"|__cxa_throw|__cxa_allocate_exception|__dynamic_cast|__assert_fail"
    r"|std::__throw_(length_error|logic_error|out_of_range|out_of_range_fmt|bad_alloc"
    r"|bad_function_call)\b.*"
    r"|std::(cout|cerr|clog|cin|wcout|wcerr)"
    r"|.*\bstd::(ios_base|basic_ios|basic_[io]?stream|basic_ostream|basic_istream|basic_filebuf"
    r"|basic_stringbuf|locale)\b.*)$")
# `objdump -t`: value, seven flag columns, section, size, name.
SYMBOL = re.compile(r"^[0-9a-f]+ (.{7}) (\S+)\s+([0-9a-f]+)\s+(.*)$")
WRITABLE = re.compile(r"^(\.data(?!\.rel\.ro)|\.bss|\.tdata|\.tbss|\*COM\*)")


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def problems(nm, objdump, path):
    found = []
    for line in output(nm, "-C", "--undefined-only", path).splitlines():
        name = line.strip().removeprefix("U ").removeprefix("w ").strip()
        if FORBIDDEN.match(re.sub(r"@.*$", "", name)):
            found.append(f"{path}: refers to {name}")
    for line in output(objdump, "-t", "-C", path).splitlines():
        match = SYMBOL.match(line)
        if not match:
            continue
        flags, section, size, name = match.groups()
        name = re.sub(r"^(\.hidden|\.protected|\.internal) ", "", name)
        if "d" in flags or "f" in flags or "F" in flags:
            continue
        if WRITABLE.match(section) and int(size, 16) > 0 and not re.match(r"^\.(L|refptr)|^DW\.ref\.", name):
            found.append(f"{path}: defines the mutable global {name} in {section}")
    return found


if __name__ == "__main__":
    found = []
    for path in sys.argv[3:]:
        found += problems(sys.argv[1], sys.argv[2], path)
    if len(sys.argv) < 4:
        found.append("no object file is given")
    sys.exit(source.report(found))
