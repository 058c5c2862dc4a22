# Records the calls of Python functions (sys.setprofile), so that a test can compare stacks with them: "call FILE FUNCTION
# LINE FILE FUNCTION" for a call at a line, "line FILE FUNCTION LINE" for each line of a function, "root FILE FUNCTION"
# for the outermost ones.
import os

seen = set()
codes = set()


def name(code):
    # numpy gives code objects another co_name than that of the source
    name = getattr(code, "co_qualname", code.co_name).rpartition(".")[2]
    return f"{os.path.basename(code.co_filename)} {name}"


def record(frame, event, _):
    if event != "call":
        return
    while frame is not None:
        code, outer = frame.f_code, frame.f_back
        if code not in codes:
            codes.add(code)
            for _, _, line in code.co_lines():
                if line:
                    seen.add(f"line {name(code)} {line}")
        if outer is None:
            seen.add(f"root {name(code)}")
        else:
            seen.add(f"call {name(outer.f_code)} {outer.f_lineno} {name(code)}")
        frame = outer


def write(path):
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(sorted(seen)))
