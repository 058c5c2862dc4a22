// Package rcode reads the stack of R 4.2 to 4.5 in a process or a core, without debug information: functions, and
// files and lines where R keeps source references.
//
// R has a list of contexts (RCNTXT), innermost first, with one for each call of a closure. A context is a local
// variable of the C function that evaluates the closure. A native frame with the context between its stack pointer
// and its CFA runs the function. In newer releases (4.5), closures that byte code calls have contexts in R's own stack
// of nodes. Their native frame is that of the next context outwards on the C stack.
//
// The offsets are those of the public sources (Defn.h), with the size of the C library's sigjmp_buf. Objects are
// checked by their types; reads and lists are bounded.
package rcode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

// ErrDamaged is an error of this package.
var ErrDamaged = errors.New("damaged R session")

// Bounds on reads.
const (
	maxContexts   = 50_000   // R's own limit of nested calls (expressions) is 5,000 by default, at most 500,000
	maxStack      = 64 << 20 // bytes of the C stack
	maxText       = 4 << 10
	maxAttributes = 64
	maxBuckets    = 4 << 10 // of the hash table of an environment
	maxVariables  = 256     // in a bucket
	maxConstants  = 1 << 20 // of byte code
	maxCode       = 1 << 24 // words of byte code
	// lastConstants is the number of constants at the end of byte code, among which the tables of lines are.
	lastConstants = 8
)

// Config is the input of Open.
type Config struct {
	Memory callbacks.Memory
	// Lookup returns the address of an exported symbol of R's module.
	Lookup func(name string) (uint64, bool)
	// JumpBuffer is the size of the C library's sigjmp_buf in bytes.
	JumpBuffer uint64
}

// Runtime is the R session of a module.
type Runtime struct {
	mem   callbacks.Memory
	after uint64 // the offset in a context of the fields after its jump buffer
	vars  variables
	files map[uint64]string // by the environment of a source file
}

// variables are the addresses of variables that R exports.
type variables struct {
	context, source                uint64
	nilValue, inByteCode           uint64
	nodeTop, nodeEnd               uint64
	fileSymbol, classSymbol, stack uint64
	stackStart, stackLimit         uint64
}

// Frame is a call of an R function.
type Frame struct {
	Function string // the name by which it was called
	File     string // empty without a source reference
	Line     int    // the first line of the statement that it executes, 0 without a source reference
}

// Call is a native function of R that runs R functions, innermost first.
type Call struct {
	Mark   uint64 // an address in its native frame; 0 if it is unknown
	Frames []Frame
}

// Open finds the R session of a module. It returns nil without an error if the module has none.
func Open(c Config) (*Runtime, error) {
	if _, ok := c.Lookup("R_GlobalContext"); !ok {
		return nil, nil
	}
	p := &Runtime{mem: c.Memory, after: contextJump + c.JumpBuffer, files: map[uint64]string{}}
	for name, at := range map[string]*uint64{
		"R_GlobalContext": &p.vars.context, "R_Srcref": &p.vars.source, "R_NilValue": &p.vars.nilValue,
		"R_InBCInterpreter": &p.vars.inByteCode, "R_BCNodeStackTop": &p.vars.nodeTop,
		"R_BCNodeStackEnd": &p.vars.nodeEnd, "R_SrcfileSymbol": &p.vars.fileSymbol,
		"R_ClassSymbol": &p.vars.classSymbol, "R_PPStackTop": &p.vars.stack,
		"R_CStackStart": &p.vars.stackStart, "R_CStackLimit": &p.vars.stackLimit,
	} {
		var ok bool
		if *at, ok = c.Lookup(name); !ok {
			return nil, fmt.Errorf("missing variable %s of R: %w", name, ErrDamaged)
		}
	}
	if c.JumpBuffer == 0 {
		return nil, fmt.Errorf("the size of sigjmp_buf is unknown: %w", errors.ErrUnsupported)
	}
	return p, nil
}

// RunsOn reports whether the stack with an address is that of R's thread.
func (p *Runtime) RunsOn(sp uint64) bool {
	low, high := p.stack()
	return sp >= low && sp < high
}

// stack returns the range of the C stack of R's thread. Without a limit of stacks, it is as large as the largest that
// is read. It is empty if it cannot be read.
func (p *Runtime) stack() (low, high uint64) {
	high, err := p.word(p.vars.stackStart)
	if err != nil {
		return 0, 0
	}
	limit, err := p.word(p.vars.stackLimit)
	if err != nil {
		return 0, 0
	}
	return high - min(limit, maxStack, high), high
}

// session has the values of R's variables during a look.
type session struct {
	*Runtime
	nilValue, inByteCode, nodeTop, nodeEnd uint64
	fileSymbol, classSymbol                uint64
	stackLow, stackHigh                    uint64
	class                                  layout
}

// layout has the offsets in a context, after the jump buffer, that differ between releases.
type layout struct {
	source   uint64 // srcref
	relative bool   // it has the number of an instruction (relpc)
}

// Offsets in a context (struct RCNTXT, Defn.h): of the first fields, and of those after the jump buffer.
const (
	contextNext  = 0
	contextFlags = 8
	contextJump  = 16

	contextCall     = 32
	contextCode     = 96  // bcbody
	contextPC       = 104 // bcpc
	contextRelative = 112 // relpc, in newer releases
	contextRest     = 184 // bytes after the jump buffer that are read
)

// oldNodes and newNodes are the offsets of the top of R's stack of nodes in older releases (4.2) and newer ones (4.5).
const oldNodes, newNodes = 136, 144

// nodesSize is the size of R's stack of nodes in bytes (R_BCNODESTACKSIZE of 4.5; 4.2 has fewer).
const nodesSize = 300_000 * 16

// functionFlag marks the context of a function (CTXT_FUNCTION).
const functionFlag = 4

// Calls returns the native calls that run R functions, innermost first. With an error, it returns those that could be
// read.
func (p *Runtime) Calls() ([]Call, error) {
	s := &session{Runtime: p}
	s.stackLow, s.stackHigh = p.stack()
	for _, v := range []struct {
		from uint64
		to   *uint64
	}{
		{p.vars.nilValue, &s.nilValue}, {p.vars.inByteCode, &s.inByteCode}, {p.vars.nodeTop, &s.nodeTop},
		{p.vars.nodeEnd, &s.nodeEnd}, {p.vars.fileSymbol, &s.fileSymbol}, {p.vars.classSymbol, &s.classSymbol},
	} {
		var err error
		if *v.to, err = p.word(v.from); err != nil {
			return nil, fmt.Errorf("reading R's variables: %w", err)
		}
	}
	at, err := p.word(p.vars.context)
	if err != nil {
		return nil, fmt.Errorf("reading R_GlobalContext: %w", err)
	}
	if at == 0 || s.nilValue == 0 { // it is about to start
		return nil, nil
	}
	return s.calls(at)
}

// calls reads the contexts from the innermost one on.
func (s *session) calls(at uint64) ([]Call, error) {
	var out []Call
	var inner []Frame
	now, err := s.present()
	if err != nil {
		return nil, err
	}
	lastOnStack, lastNode := uint64(0), s.nodeTop+1
	for n := 0; at != 0; n++ {
		if n == maxContexts {
			return out, fmt.Errorf("more than %d contexts of R: %w", maxContexts, ErrDamaged)
		}
		c, err := s.context(at, n == 0)
		if err != nil {
			return out, err
		}
		if c.next == 0 { // R's top level is no function
			break
		}
		switch { // both stacks lead outwards
		case s.onStack(at) && at > lastOnStack:
			lastOnStack = at
		case !s.onStack(at) && s.isNode(at) && at < lastNode:
			lastNode = at
		default:
			return out, fmt.Errorf("the context of R at %#x is out of order: %w", at, ErrDamaged)
		}
		if c.flags&functionFlag != 0 {
			name, err := s.calledName(c.call)
			if err != nil {
				return out, err
			}
			f := Frame{Function: name}
			f.File, f.Line = s.resolve(now)
			inner, now = append(inner, f), c.source
		} else if !s.isKnown(now) {
			now = c.source
		}
		if len(inner) > 0 && s.onStack(at) {
			out, inner = append(out, Call{at, inner}), nil
		}
		at = c.next
	}
	if len(inner) > 0 {
		out = append(out, Call{0, inner})
	}
	return out, nil
}

// context is a context of R.
type context struct {
	next, call uint64
	flags      uint32
	source     source // the place of its call
}

// source is a place in R's source.
type source struct {
	reference uint64 // a source reference, nothing, or the mark of byte code
	code      uint64 // the byte code
	pc        uint64 // the address of its present instruction; in newer releases its number
	numbered  bool
}

// context reads the context at an address. The innermost one shows the layout.
func (s *session) context(at uint64, innermost bool) (context, error) {
	b := make([]byte, s.after+contextRest)
	if err := s.mem.ReadMemory(callbacks.Addr(at), b); err != nil {
		return context{}, fmt.Errorf("reading a context of R: %w", err)
	}
	rest := b[s.after:]
	if innermost {
		switch {
		case s.isNode(word(rest, oldNodes)):
			s.class = layout{source: oldNodes + 16}
		case s.isNode(word(rest, newNodes)):
			s.class = layout{source: newNodes + 24, relative: true}
		default:
			return context{}, fmt.Errorf("the context of R at %#x has an unknown layout: %w", at, ErrDamaged)
		}
	}
	c := context{
		next: word(b, contextNext), flags: uint32(word(b, contextFlags)), call: word(rest, contextCall),
		source: source{reference: word(rest, s.class.source), code: word(rest, contextCode)},
	}
	if c.source.reference != s.inByteCode || c.source.code == 0 {
		return c, nil
	}
	if s.class.relative {
		c.source.pc, c.source.numbered = word(rest, contextRelative), true
		return c, nil
	}
	// The variable is in the frame of the function that called, which has not returned.
	pc, err := s.word(word(rest, contextPC))
	if err != nil {
		return c, fmt.Errorf("reading an instruction of R: %w", err)
	}
	c.source.pc = pc
	return c, nil
}

// onStack reports whether an address is on the C stack.
func (s *session) onStack(at uint64) bool { return at >= s.stackLow && at < s.stackHigh }

// isNode reports whether an address is in the used part of R's stack of nodes.
func (s *session) isNode(at uint64) bool {
	return at <= s.nodeTop && at < s.nodeEnd && s.nodeEnd-at <= nodesSize
}

// isKnown reports whether a place may have a line.
func (s *session) isKnown(at source) bool { return at.reference != 0 && at.reference != s.nilValue }

// present returns the present place of the innermost function.
func (s *session) present() (source, error) {
	reference, err := s.word(s.vars.source)
	if err != nil {
		return source{}, fmt.Errorf("reading R_Srcref: %w", err)
	}
	if reference != s.inByteCode {
		return source{reference: reference}, nil
	}
	code, pc := s.byteCode()
	return source{reference: reference, code: code, pc: pc}, nil
}

// around is the number of bytes before and after R_PPStackTop among which R_BCbody and R_BCpc are, which are not
// exported.
const around = 128

// byteCode returns the present byte code and instruction: the one pair of variables that are a byte code, and the
// address of a pointer into its instructions. It returns 0 without exactly one.
func (s *session) byteCode() (code, pc uint64) {
	b := make([]byte, 2*around)
	if s.mem.ReadMemory(callbacks.Addr(s.vars.stack-around), b) != nil {
		return 0, 0
	}
	found := 0
	for i := uint64(0); i < uint64(len(b)); i += 8 {
		low, high := s.instructions(word(b, i))
		if low == 0 {
			continue
		}
		for j := uint64(0); j < uint64(len(b)); j += 8 {
			at, err := s.word(word(b, j))
			if err == nil && at >= low && at < high {
				code, pc = word(b, i), at
				found++
			}
		}
	}
	if found != 1 {
		return 0, 0
	}
	return code, pc
}

// resolve returns the file and the line of a place, "" and 0 if R has none.
func (s *session) resolve(at source) (file string, line int) {
	if at.reference == s.inByteCode {
		at.reference = s.byteCodeSource(at)
	}
	if !s.isKnown(at) {
		return "", 0
	}
	b, err := s.object(at.reference, integerType)
	if err != nil || word(b, vectorLength) < 4 { // first line, byte, last line, byte
		return "", 0
	}
	first, err := s.word(at.reference + vectorData)
	if err != nil || int32(first) <= 0 {
		return "", 0
	}
	file = s.file(s.attribute(b, s.fileSymbol))
	if file == "" {
		return "", 0
	}
	return file, int(int32(first))
}

// byteCodeSource returns the source reference of an instruction of byte code, 0 without one.
func (s *session) byteCodeSource(at source) uint64 {
	low, high := s.instructions(at.code)
	if low == 0 {
		return 0
	}
	n := at.pc
	if !at.numbered {
		if at.pc < low || at.pc >= high {
			return 0
		}
		n = (at.pc - low) / 8
	}
	b, err := s.object(at.code, byteCodeType)
	if err != nil {
		return 0
	}
	constants := word(b, listRest)
	c, err := s.object(constants, vectorType)
	if err != nil {
		return 0
	}
	length := word(c, vectorLength)
	if length == 0 || length > maxConstants {
		return 0
	}
	for i := length; i > 0 && i > length-min(length, lastConstants); i-- {
		table, err := s.word(constants + vectorData + 8*(i-1))
		if err != nil {
			return 0
		}
		t, err := s.object(table, integerType)
		if err != nil || !s.hasClass(t, "srcrefsIndex") || n >= word(t, vectorLength) {
			continue
		}
		index, err := s.word(table + vectorData + 4*n)
		if err != nil || uint64(uint32(index)) >= length {
			return 0
		}
		reference, err := s.word(constants + vectorData + 8*uint64(uint32(index)))
		if err != nil {
			return 0
		}
		return reference
	}
	return 0
}

// instructions returns the addresses of the instructions of byte code, 0 if the object is none.
func (s *session) instructions(code uint64) (low, high uint64) {
	b, err := s.object(code, byteCodeType)
	if err != nil {
		return 0, 0
	}
	at := word(b, listHead)
	c, err := s.object(at, integerType)
	if err != nil || word(c, vectorLength) > maxCode {
		return 0, 0
	}
	return at + vectorData, at + vectorData + 4*word(c, vectorLength)
}

// calledName returns the name by which a function was called.
func (s *session) calledName(call uint64) (string, error) {
	const anonymous = "<anonymous>"
	b, err := s.object(call, 0)
	if err != nil {
		return "", err
	}
	if typeOf(b) != callType {
		return anonymous, nil
	}
	head, err := s.object(word(b, listHead), 0)
	if err != nil {
		return "", err
	}
	switch typeOf(head) {
	case symbolType:
		return s.symbol(head)
	case callType: // as stats::sd(x), object$method(x) or functions[[name]](x)
		if name := s.qualified(head); name != "" {
			return name, nil
		}
	}
	return anonymous, nil
}

// qualified returns the name of a function that is an element of a package or an object, "" for others.
func (s *session) qualified(b []byte) string {
	var parts [3]string
	for i := range parts {
		if typeOf(b) != callType && typeOf(b) != listType {
			return ""
		}
		element, err := s.object(word(b, listHead), 0)
		if err != nil || typeOf(element) != symbolType {
			return ""
		}
		if parts[i], err = s.symbol(element); err != nil {
			return ""
		}
		if b, err = s.object(word(b, listRest), 0); err != nil {
			return ""
		}
	}
	switch parts[0] {
	case "::", ":::", "$", "@":
		return parts[1] + parts[0] + parts[2]
	case "[[":
		return parts[1] + "[[" + parts[2] + "]]"
	}
	return ""
}

// file returns the path of a source file, given its environment; "" for source without a file.
func (s *session) file(environment uint64) string {
	if f, ok := s.files[environment]; ok {
		return f
	}
	name := s.variable(environment, "filename")
	if name != "" && !strings.HasPrefix(name, "<") && !path.IsAbs(name) {
		if directory := s.variable(environment, "wd"); path.IsAbs(directory) {
			name = path.Join(directory, name)
		}
	}
	s.files[environment] = name
	return name
}

// variable returns the first string of a variable of an environment, "" if there is none.
func (s *session) variable(environment uint64, name string) string {
	b, err := s.object(environment, environmentType)
	if err != nil {
		return ""
	}
	table := word(b, environmentTable)
	t, err := s.object(table, vectorType)
	if err != nil {
		return s.listed(word(b, environmentFrame), name)
	}
	for i := range min(word(t, vectorLength), maxBuckets) {
		bucket, err := s.word(table + vectorData + 8*i)
		if err != nil {
			return ""
		}
		if text := s.listed(bucket, name); text != "" {
			return text
		}
	}
	return ""
}

// listed returns the first string of a variable in a list of variables, "" if there is none.
func (s *session) listed(at uint64, name string) string {
	for range maxVariables {
		b, err := s.object(at, listType)
		if err != nil {
			return ""
		}
		tag, err := s.object(word(b, listTag), symbolType)
		if err != nil {
			return ""
		}
		if text, err := s.symbol(tag); err == nil && text == name {
			return s.firstString(word(b, listHead))
		}
		at = word(b, listRest)
	}
	return ""
}

// firstString returns the first element of a vector of strings, "" if it has none.
func (s *session) firstString(at uint64) string {
	b, err := s.object(at, stringsType)
	if err != nil || word(b, vectorLength) == 0 {
		return ""
	}
	element, err := s.word(at + vectorData)
	if err != nil {
		return ""
	}
	text, err := s.text(element)
	if err != nil {
		return ""
	}
	return text
}

// hasClass reports whether an object has a class.
func (s *session) hasClass(b []byte, name string) bool {
	return s.firstString(s.attribute(b, s.classSymbol)) == name
}

// attribute returns an attribute of an object, 0 if it has none.
func (s *session) attribute(b []byte, symbol uint64) uint64 {
	at := word(b, objectAttributes)
	for range maxAttributes {
		l, err := s.object(at, listType)
		if err != nil {
			return 0
		}
		if word(l, listTag) == symbol {
			return word(l, listHead)
		}
		at = word(l, listRest)
	}
	return 0
}

// Types of objects (SEXPTYPE).
const (
	symbolType      = 1
	listType        = 2
	environmentType = 4
	callType        = 6
	textType        = 9
	integerType     = 13
	stringsType     = 16
	vectorType      = 19
	byteCodeType    = 21
)

// Offsets in objects (struct SEXPREC, Defn.h), the same in 4.0 to 4.5.
const (
	objectType       = 0x1f // bits of the first word
	objectOther      = 0x80 // ALTREP: its content is not in the object
	objectAttributes = 8
	objectSize       = 56

	listHead, listRest, listTag = 32, 40, 48
	symbolName                  = 32

	environmentFrame, environmentTable = 32, 48

	vectorLength = 32
	vectorData   = 48
)

// object reads an object of a type, 0 for any.
func (s *session) object(at uint64, want byte) ([]byte, error) {
	b := make([]byte, objectSize)
	if err := s.mem.ReadMemory(callbacks.Addr(at), b); err != nil {
		return nil, fmt.Errorf("reading an object of R: %w", err)
	}
	if got := typeOf(b); want != 0 && got != want || b[0]&objectOther != 0 {
		return nil, fmt.Errorf("the object of R at %#x has type %d, not %d: %w", at, got, want, ErrDamaged)
	}
	return b, nil
}

// typeOf returns the type of an object.
func typeOf(b []byte) byte { return b[0] & objectType }

// symbol returns the name of a symbol.
func (s *session) symbol(b []byte) (string, error) { return s.text(word(b, symbolName)) }

// text reads a string (CHARSXP).
func (s *session) text(at uint64) (string, error) {
	b, err := s.object(at, textType)
	if err != nil {
		return "", err
	}
	n := word(b, vectorLength)
	if n > maxText {
		return "", fmt.Errorf("the name at %#x has %d bytes: %w", at, n, ErrDamaged)
	}
	out := make([]byte, n)
	if err := s.mem.ReadMemory(callbacks.Addr(at+vectorData), out); err != nil {
		return "", fmt.Errorf("reading a name of R: %w", err)
	}
	return strings.ToValidUTF8(string(out), "\uFFFD"), nil
}

// word reads a word of memory.
func (p *Runtime) word(at uint64) (uint64, error) {
	var b [8]byte
	if err := p.mem.ReadMemory(callbacks.Addr(at), b[:]); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// word returns a word of bytes that were read, 0 past their end.
func word(b []byte, at uint64) uint64 {
	if at > uint64(len(b)) || uint64(len(b))-at < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(b[at:])
}
