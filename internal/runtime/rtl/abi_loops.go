package rtl

import "strings"

// LoopKind classifies functions that compilers call for worksharing constructs.
type LoopKind uint8

// The kinds of such functions.
const (
	LoopNone     LoopKind = iota
	LoopHands             // gives the thread a chunk of a dynamic loop
	LoopStatic            // gives the thread its part of a loop divided in advance
	LoopSections          // gives the thread a section
	LoopEnds              // ends such a construct, or starts another
)

// LoopCounters returns the names, in debug information, of clang's variables that count the iterations of a loop
// or of sections from 0.
func LoopCounters() []string { return []string{".omp.iv", ".omp.sections.iv."} }

// LoopCall describes such a function. Arguments are numbered from 0.
type LoopCall struct {
	Kind     LoopKind
	Ranges   bool // Low and High are arguments
	Low      int  // argument: address for the thread's first value
	High     int  // argument: address for the last value
	Size     uint8
	Unsigned bool
	Behind   bool // the last value is exclusive, by up to a step
	Ordered  bool // the loop has an ordered clause
	Counted  bool // its code has one of LoopCounters
	// Writes is the most bytes that the function writes through each pointer argument; 0 if unknown.
	Writes uint64
	// Schedule, Chunk and Source are arguments of functions of kind LoopStatic.
	Schedule, Chunk, Source int
}

// kmpcWidths maps the suffixes of LLVM's functions for loops to the size of the loop's variable; u is unsigned.
var kmpcWidths = map[string]struct {
	size     uint8
	unsigned bool
}{"4": {4, false}, "4u": {4, true}, "8": {8, false}, "8u": {8, true}}

// StartsOrdered reports whether the named function may start a loop with an ordered clause.
func StartsOrdered(name string) bool {
	return LoopCallOf(name).Ordered || strings.HasPrefix(name, "__kmpc_dispatch_init") ||
		strings.HasPrefix(name, "__kmpc_doacross_init")
}

// LoopCallOf describes the named function. The name may have a symbol version.
func LoopCallOf(name string) LoopCall {
	name, _, _ = strings.Cut(name, "@")
	if rest, ok := strings.CutPrefix(name, "GOMP_"); ok {
		return gompLoopCall(rest)
	}
	if rest, ok := strings.CutPrefix(name, "__kmpc_"); ok {
		return kmpcLoopCall(rest)
	}
	return LoopCall{}
}

func kmpcLoopCall(name string) LoopCall {
	if name == "for_static_fini" || name == "dispatch_deinit" {
		return LoopCall{Kind: LoopEnds}
	}
	at := strings.LastIndexByte(name, '_')
	if at < 0 { // a program may call its own function __kmpc_4
		return LoopCall{}
	}
	w, ok := kmpcWidths[name[at+1:]]
	if !ok {
		return LoopCall{}
	}
	c := LoopCall{Ranges: true, Counted: true, Size: w.size, Unsigned: w.unsigned, Writes: 8}
	switch name[:at] {
	case "dispatch_init":
		return LoopCall{Kind: LoopEnds}
	case "dispatch_next":
		c.Kind, c.Low, c.High = LoopHands, 3, 4
	case "for_static_init":
		c.Kind, c.Schedule, c.Low, c.High, c.Chunk = LoopStatic, 2, 4, 5, 8
	default:
		return LoopCall{}
	}
	return c
}

func gompLoopCall(name string) LoopCall {
	switch name {
	case "sections_start", "sections2_start", "sections_next":
		return LoopCall{Kind: LoopSections}
	case "sections_end", "sections_end_nowait", "sections_end_cancel", "loop_end", "loop_end_nowait", "loop_end_cancel":
		return LoopCall{Kind: LoopEnds}
	}
	rest, ok := strings.CutPrefix(name, "loop_")
	c := LoopCall{Kind: LoopHands, Size: 8, Behind: true, Unsigned: strings.HasPrefix(rest, "ull_")}
	c.Ordered = strings.Contains(rest, "ordered_") || strings.Contains(rest, "doacross_")
	switch rest {
	case "start", "ull_start", "doacross_start", "ull_doacross_start": // these take arrays, too
	default:
		c.Writes = 8
	}
	switch {
	case !ok:
		return LoopCall{}
	case strings.HasSuffix(rest, "_next"):
		c.Ranges, c.Low, c.High = true, 0, 1
	case rest != "start" && !strings.HasSuffix(rest, "_start"):
		return LoopCall{}
	}
	return c
}
