package inspect

import "strings"

// A construct of the program is one frame to people, but compilers make up to
// two functions of it: clang's wrapper and the body with the debug information
// (.omp_outlined. and .omp_outlined._debug__), or a task's entry and its body.

// mergeOutlined makes one frame of each construct, and tells in which function
// of the program it stands.
func mergeOutlined(fs []Frame) []Frame {
	out := fs[:0:0]
	for _, f := range fs {
		if len(out) > 0 && wraps(f, out[len(out)-1]) {
			body := &out[len(out)-1]
			body.Construct, body.Inlined = f.Construct, f.Inlined
			continue
		}
		out = append(out, f)
	}
	for i := len(out) - 2; i >= 0; i-- {
		f, caller := &out[i], out[i+1]
		if f.In != "" || f.Construct != "parallel" || caller.Kind != FrameUser {
			continue
		}
		f.In = caller.Function
		if caller.Construct != "" {
			f.In = caller.In
		}
	}
	return out
}

// wraps tells whether frame outer is only the compiler's wrapper of frame body.
func wraps(outer, body Frame) bool {
	if outer.Construct == "" || body.Construct == "" || outer.LWP != 0 {
		return false
	}
	return strings.Contains(body.Function, "_debug__") && !strings.Contains(outer.Function, "_debug__") ||
		outer.Construct == "task" && body.Construct != "task"
}
