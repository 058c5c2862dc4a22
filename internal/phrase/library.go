package phrase

import "github.com/ompd-inspect/ompd-inspect/picture"

// LibraryCall returns the number of frames, from index i on, that belong to one call of the C++ standard library; 0
// without such a call. If it is the innermost one, the frames of the C library within it belong to it.
func LibraryCall(fs []picture.Frame, i int) int {
	first := i
	for i == 0 && first < len(fs) && fs[first].Kind == picture.FrameSystem && !fs[first].InStandardLibrary() {
		first++
	}
	end := first
	for end < len(fs) && fs[end].Kind != picture.FramePseudo && fs[end].LWP == 0 && fs[end].InStandardLibrary() {
		end++
	}
	if end == first || end-i == len(fs) {
		return 0
	}
	return end - i
}

// LibraryFunction returns the name of the function of the C++ standard library that the program called, from the
// outermost frame of the call.
func LibraryFunction(f picture.Frame) string {
	f.File, f.Line = "", 0
	if f.Function != "" {
		f.Function, f.Module = WithoutParameters(f.Function), ""
	}
	return Where(f)
}
