package libomp

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/layout"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// The runtime stores no data of loops with iterations divided in advance. The arguments that compilers pass to
// the dividing function are the only source.

// Further values of enum sched_type that compilers pass to that function.
const (
	schStatic             = 34
	schStaticBalancedSimd = 45
	schDistributeChunked  = 91
	schDistribute         = 92
	schModifiers          = 3 << 29 // flags: monotonic, nonmonotonic
	identFlagsAt          = 4       // offset of the flags in ident_t, since before LLVM 14
	identSections         = 0x400
)

// staticLoop describes a construct with iterations that its code divided in advance.
func (lp *loops) staticLoop(code *rtl.LoopCode) (rtl.LoopInfo, error) {
	info := rtl.LoopInfo{Evidence: code.Evidence()}
	if code.Schedule == nil {
		return info, fmt.Errorf("schedule of %s in %s: %w", code.Function, code.Where, callbacks.Unavailable)
	}
	chunked := false
	switch *code.Schedule &^ schModifiers {
	case schStatic:
		info.Schedule = "static"
	case schStaticChunked, schStaticBalancedSimd:
		info.Schedule, chunked = "static", true
	case schDistribute:
		info.Schedule = "distribute"
	case schDistributeChunked:
		info.Schedule, chunked = "distribute", true
	default:
		return info, fmt.Errorf("schedule %d of %s in %s: %w", *code.Schedule, code.Function, code.Where,
			callbacks.Unavailable)
	}
	if lp.isSections(code) {
		info.Schedule = "sections"
	}
	if chunked { // the code may have advanced the range since, in registers
		if code.Chunk != nil && *code.Chunk > 0 {
			n := uint64(*code.Chunk)
			info.Chunk = &n
		}
		code.Place(&info)
		return info, nil
	}
	one := int64(1)
	info.From, info.To = code.Range(one)
	info.Step = &one
	code.Place(&info)
	return info, nil
}

// isSections reports whether the divided construct is sections, according to the compiler's record.
func (lp *loops) isSections(code *rtl.LoopCode) bool {
	flags, err := layout.ReadUint(lp.mem, callbacks.Addr(code.Source+identFlagsAt), 4)
	return code.Source != 0 && err == nil && flags&identSections != 0
}
