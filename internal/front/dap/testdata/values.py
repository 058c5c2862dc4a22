"""Writes the variables of all frames as JSON, one frame a line, for TestVariablesAsGdb."""
import json
import os

import gdb

ELEMENTS = 20  # of an array


def key_text(value):
    """Returns the key of a map as its name has it: a number, or a text in quotes."""
    try:
        return str(int(value))
    except (gdb.error, TypeError, ValueError):
        return json.dumps(gdb.default_visualizer(value).to_string().value().string())


def flatten_object(out, path, value, depth):
    """Adds the values that gdb's own printers of the library of C++ show; returns False without such a printer."""
    printer = gdb.default_visualizer(value)
    if [f.name for f in value.type.strip_typedefs().fields()] == ["_M_elems"]:  # std::array has none
        flatten(out, path, value["_M_elems"], depth)
        return True
    if printer is None:
        return False
    hint = printer.display_hint() if hasattr(printer, "display_hint") else None
    if hint == "string":
        text = printer.to_string()
        text = text.value() if hasattr(text, "value") else text
        out.append([path, json.dumps(text.string() if hasattr(text, "string") else text)])
    elif hint in ("array", "map"):
        children = [child for _, child in zip(range(ELEMENTS), printer.children())]
        if hint == "map":
            children = [("[" + key_text(k[1]) + "]", v[1]) for k, v in zip(children[::2], children[1::2])]
        for i, (name, child) in enumerate(children):
            index = "" if name == "[contained value]" else "[%d]" % i  # of std::variant
            flatten(out, path + (index if hint == "array" else name), child, depth + 1)
    return True


def flatten(out, path, value, depth=0):
    """Adds the plain values in a value to out."""
    try:
        if value.is_optimized_out:
            out.append([path, "<optimized out>"])
            return
        kind = value.type.strip_typedefs()
        code = kind.code
        if code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_ENUM):
            out.append([path, str(int(value))])
        elif code == gdb.TYPE_CODE_FLT:
            out.append([path, "%.6g" % float(value)])
        elif code == gdb.TYPE_CODE_PTR:
            out.append([path, hex(int(value))])
        elif code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            flatten(out, path, value.referenced_value(), depth + 1)
        elif code == gdb.TYPE_CODE_STRUCT and flatten_object(out, path, value, depth):
            return
        elif code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
            for f in kind.fields():
                if depth < 5 and hasattr(f, "bitpos") and not f.artificial:
                    name = "(" + f.name + ")" if f.is_base_class else f.name or "(unnamed)"
                    flatten(out, path + "." + name, value[f], depth + 1)
        elif code == gdb.TYPE_CODE_STRING or (  # of Fortran
                code == gdb.TYPE_CODE_ARRAY and kind.target().strip_typedefs().code == gdb.TYPE_CODE_CHAR
                and value.format_string()[0] == "'"):
            text = value.format_string().strip("'")  # empty for a length known at run time only: not compared
            out.append([path, json.dumps(text) if text else "!"])
        elif code == gdb.TYPE_CODE_ARRAY:
            low, high = kind.range()
            if kind.target().sizeof == 1 and kind.target().strip_typedefs().code in (gdb.TYPE_CODE_INT,
                                                                                    gdb.TYPE_CODE_CHAR):
                out.append([path, json.dumps(bytes(int(value[i]) & 255 for i in range(low, high + 1))
                                             .split(b"\0")[0].decode("latin-1"))])
            elif high - low < ELEMENTS and depth < 5:
                for i in range(low, high + 1):
                    flatten(out, "%s[%d]" % (path, i), value[i], depth + 1)
    except (gdb.error, AttributeError) as e:  # the latter: printers of the library of C++ that find no type
        out.append([path, "!" + str(e)])


def variables(frame):
    """Returns the variables of a function, innermost block first."""
    out = []
    try:
        block = frame.block()
    except RuntimeError:
        return None
    while block is not None:
        for s in block:
            if s.is_variable or s.is_argument:
                if s.name[0] not in "._":  # compilers make names that start with an underscore
                    try:
                        flatten(out, s.name, s.value(frame))
                    except gdb.error as e:
                        out.append([s.name, "!" + str(e)])
        if block.function:
            break
        block = block.superblock
    return out


with open(os.environ["VALUES"], "w") as to:
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        frame = gdb.newest_frame()
        while frame is not None:
            found = variables(frame)
            if found is not None and frame.pc():
                to.write(json.dumps({"lwp": thread.ptid[1], "pc": "0x%x" % frame.pc(), "function": frame.name() or "",
                                     "values": found}) + "\n")
            try:
                frame = frame.older()
            except gdb.error:
                break
