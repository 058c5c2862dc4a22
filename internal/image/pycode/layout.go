package pycode

import (
	"encoding/binary"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// layout has the offsets, in bytes, of the structures of one release of CPython. They are the same on x86-64 and
// aarch64. An offset of 0 means that the release lacks the field, but for those that are the first of a structure.
type layout struct {
	minor        int  // of release 3.minor
	freeThreaded bool // built with --disable-gil

	interpreters                                uint64 // in _PyRuntime: the first interpreter
	interpreterNext, interpreterID, threads     uint64 // in PyInterpreterState; the number is unknown before 3.12
	lock                                        uint64 // in _PyRuntime up to 3.11: the GIL's record
	lockPointer                                 uint64 // in PyInterpreterState from 3.12 on: the record's address
	modules                                     uint64 // in PyInterpreterState: sys.modules
	sharedKeys                                  uint64 // in a class: keys of the attributes of instances; from 3.11 on
	threadNext, threadID                        uint64 // in PyThreadState
	frame, cframe                               uint64 // in PyThreadState: the innermost frame, or the innermost CFrame
	cframeFrame, cframeNext                     uint64 // in CFrame (3.10) and _PyCFrame
	code, previous, instruction, owner, entry   uint64 // in a frame; instruction is f_lasti before 3.11
	threadCodeIndex                             uint64 // in a frame: tlbc_index
	file, name, lines, firstLine                uint64 // in a code object
	instructions, firstTraceable, threadCode    uint64 // in a code object; threadCode is co_tlbc
	objectType                                  uint64 // in each object
	textLength, textState, textASCII, textOther uint64 // in a str; the last two: after the header
	textKind                                    uint   // the first bit of the kind in textState
	bytesLength, bytesText                      uint64 // in a bytes object
}

// threadInterpreter is the offset of the interpreter in a thread state. It is the same in all releases.
const threadInterpreter = 16

// older has the layouts of releases without offsets of their own, by minor release.
// Sources: pycore_runtime.h, pycore_interp.h, pycore_frame.h, frameobject.h, code.h, unicodeobject.h of each.
var older = func() map[int]layout {
	l7 := layout{
		minor: 7, interpreters: 24, modules: 40, lock: 1264, threads: 8, threadNext: 8, threadID: 176, frame: 24,
		code: 32, previous: 24, instruction: 104, file: 96, name: 104, lines: 112, firstLine: 36, instructions: 40,
		objectType: 8, textLength: 16, textState: 32, textASCII: 48, textOther: 72, textKind: 2,
		bytesLength: 16, bytesText: 32,
	}
	l8 := l7
	l8.minor, l8.interpreters, l8.modules, l8.lock = 8, 32, 56, 1152
	l8.file, l8.name, l8.lines, l8.firstLine, l8.instructions = 104, 112, 120, 40, 48
	l9 := l8
	l9.minor, l9.modules, l9.lock = 9, 856, 352
	l10 := l9
	l10.minor, l10.cframe, l10.cframeNext, l10.instruction = 10, 48, 8, 96
	l11 := l10
	l11.minor, l11.interpreters, l11.threads, l11.threadID, l11.frame = 11, 40, 16, 152, 0
	l11.modules, l11.sharedKeys = 888, 872
	l11.cframe, l11.cframeFrame, l11.cframeNext, l11.lock = 56, 8, 16, 360
	l11.previous, l11.instruction, l11.owner, l11.entry = 48, 56, 69, 68
	l11.file, l11.name, l11.lines, l11.firstLine, l11.instructions, l11.firstTraceable = 112, 128, 136, 72, 184, 168
	l12 := l11
	l12.minor, l12.threads, l12.threadID, l12.cframeFrame, l12.cframeNext = 12, 72, 136, 0, 8
	l12.modules, l12.sharedKeys = 944, 880
	l12.lock, l12.lockPointer, l12.interpreterID = 0, 384, 8
	l12.code, l12.previous, l12.owner, l12.entry = 0, 8, 70, 0
	l12.firstLine, l12.instructions, l12.firstTraceable = 68, 192, 176
	l12.textASCII, l12.textOther = 40, 56
	return map[int]layout{7: l7, 8: l8, 9: l9, 10: l10, 11: l11, 12: l12}
}()

// Words of _Py_DebugOffsets that are the same in all releases: the cookie, the release and whether it is
// free-threaded, then offsets.
const (
	wordVersion      = 1
	wordFreeThreaded = 2
	wordInterpreters = 5
	wordID           = 7
	wordNext         = 8
	wordThreads      = 9
)

// debugWords has the indexes of words in _Py_DebugOffsets. Its own layout changes with each minor release.
type debugWords struct {
	size                                        uint64 // of the table in bytes
	threadNext, frame, threadID                 int
	previous, code, instruction, owner          int
	file, firstLine, instructions               int // file is followed by name, qualname and the line table
	bytesLength, textState                      int // followed by the text; by the length and the text
	threadCode, threadCodeIndex                 int
	instructionsAfter, instructionsAfterThreads uint64 // bytes from _co_firsttraceable to co_code_adaptive
	lockPointer                                 int    // ceval_gil, the third word after imports_modules
	sharedKeys                                  uint64 // offset of ht_cached_keys, which has no word
}

// newer has the words of the releases that have _Py_DebugOffsets (Include/internal/pycore_debug_offsets.h, 3.13:
// pycore_runtime.h), by minor release.
var newer = map[int]debugWords{
	13: {584, 21, 23, 24, 29, 30, 31, 33, 35, 39, 43, 65, 68, 0, 0, 16, 16, 14, 880},
	14: {760, 24, 26, 27, 32, 33, 34, 36, 40, 44, 48, 75, 78, 49, 38, 16, 24, 15, 880},
	15: {888, 24, 26, 30, 40, 41, 42, 44, 48, 52, 56, 87, 90, 57, 46, 16, 24, 15, 888},
}

// maxOffset bounds the offsets that an interpreter has in its own table: 1 MiB.
const maxOffset = 1 << 20

// ownLayout makes a layout of the interpreter's own table, _Py_DebugOffsets.
func ownLayout(mem callbacks.Memory, runtime uint64) (layout, error) {
	head := make([]byte, 24)
	if err := mem.ReadMemory(callbacks.Addr(runtime), head); err != nil {
		return layout{}, fmt.Errorf("reading _Py_DebugOffsets: %w", err)
	}
	minor := int(binary.LittleEndian.Uint64(head[8*wordVersion:]) >> 16 & 0xff)
	d, ok := newer[minor]
	if !ok {
		return layout{}, fmt.Errorf("CPython 3.%d: %w", minor, ErrRelease)
	}
	table := make([]byte, d.size)
	if err := mem.ReadMemory(callbacks.Addr(runtime), table); err != nil {
		return layout{}, fmt.Errorf("reading _Py_DebugOffsets: %w", err)
	}
	var bad error
	word := func(i int) uint64 {
		v := binary.LittleEndian.Uint64(table[8*i:])
		if v > maxOffset {
			bad = fmt.Errorf("_Py_DebugOffsets: word %d is %#x, more than %d: %w", i, v, maxOffset, ErrDamaged)
		}
		return v
	}
	l := layout{
		minor: minor, freeThreaded: word(wordFreeThreaded) != 0,
		interpreters: word(wordInterpreters), interpreterNext: word(wordNext), threads: word(wordThreads),
		interpreterID: word(wordID), lockPointer: word(d.lockPointer), modules: word(d.lockPointer - 3),
		sharedKeys: d.sharedKeys,
		threadNext: word(d.threadNext), threadID: word(d.threadID), frame: word(d.frame),
		code: word(d.code), previous: word(d.previous), instruction: word(d.instruction), owner: word(d.owner),
		file: word(d.file), name: word(d.file + 2), lines: word(d.file + 3), firstLine: word(d.firstLine),
		instructions: word(d.instructions), objectType: 8,
		bytesLength: word(d.bytesLength), bytesText: word(d.bytesLength + 1),
		textState: word(d.textState), textLength: word(d.textState + 1), textASCII: word(d.textState + 2), textKind: 2,
	}
	l.textOther = l.textASCII + 16
	l.firstTraceable = l.instructions - d.instructionsAfter
	if l.freeThreaded {
		l.objectType = 24
		l.sharedKeys += 16 // the header of objects is longer
	}
	if l.freeThreaded && d.threadCode != 0 {
		l.threadCode, l.threadCodeIndex, l.textKind = word(d.threadCode), word(d.threadCodeIndex), 8
		l.firstTraceable = l.instructions - d.instructionsAfterThreads
	}
	if bad == nil && max(l.code, l.previous, l.instruction, l.owner, l.threadCodeIndex)+8 > frameSize {
		bad = fmt.Errorf("_Py_DebugOffsets: a frame of more than %d bytes: %w", frameSize, ErrDamaged)
	}
	if bad == nil && max(l.file, l.name, l.lines, l.firstLine, l.firstTraceable, l.threadCode)+8 > codeSize {
		bad = fmt.Errorf("_Py_DebugOffsets: a code object of more than %d bytes: %w", codeSize, ErrDamaged)
	}
	return l, bad
}
