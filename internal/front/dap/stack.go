package dap

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// frame is a line of a thread's stack as the client sees it.
type frame struct {
	picture.Frame
	thread *thread
	label  string // of a line that is no frame: that the stack goes on in another thread's
	index  int    // among the frames of the stack, without labels
	id     int    // 0 until the client was told of it
}

// maxPage is how many frames a client gets that does not say how many it wants.
const maxPage = 1000

// stackTrace gives a part of a stack.
func (v *view) stackTrace(
	_ context.Context, args godap.StackTraceArguments,
) (body godap.StackTraceResponseBody, err error) {
	t := v.byID[args.ThreadId]
	if t == nil {
		return body, fmt.Errorf("there is no thread %d", args.ThreadId)
	}
	all := v.stackOf(t)
	from := min(max(args.StartFrame, 0), len(all))
	levels := args.Levels
	if levels <= 0 {
		levels = maxPage
	}
	body = godap.StackTraceResponseBody{StackFrames: []godap.StackFrame{}, TotalFrames: len(all)}
	for _, f := range all[from:min(from+levels, len(all))] {
		body.StackFrames = append(body.StackFrames, v.show(f))
	}
	return body, nil
}

// stackOf makes the lines of a thread's stack, innermost first.
func (v *view) stackOf(t *thread) []*frame {
	if t.stack != nil {
		return t.stack
	}
	owner, level := t.LWP, len(t.Levels)-1
	for i, f := range v.framesOf(t.Thread) {
		if f.LWP != 0 && f.LWP != owner {
			var text string
			text, level = v.forked(t, f.LWP, level)
			owner = f.LWP
			t.stack = append(t.stack, &frame{thread: t, label: text})
		}
		t.stack = append(t.stack, &frame{Frame: f, thread: t, index: i})
	}
	return t.stack
}

// framesOf are the frames of a thread's stack: those of the user's model, or, if the
// runtimes' are asked for, the thread's native ones before those of other threads.
func (v *view) framesOf(t *picture.Thread) []picture.Frame {
	if !v.config.RuntimeFrames || len(t.Stack) == 0 {
		return t.UserStack
	}
	var out []picture.Frame
	if len(t.UserStack) > 0 && t.UserStack[0].Kind == picture.FramePseudo {
		out = append(out, t.UserStack[0])
	}
	out = append(out, t.Stack...)
	for i, f := range t.UserStack {
		if f.LWP != 0 && f.LWP != t.LWP {
			return append(out, t.UserStack[i:]...)
		}
	}
	return out
}

// forked says that a stack goes on in that of thread lwp, which forked a region of t at
// most as deep as level; and how deep the thread was that did.
func (v *view) forked(t *thread, lwp, level int) (text string, outer int) {
	p := v.lwps[lwp]
	for ; p != nil && level > 0; level-- {
		if level >= len(p.Levels) || p.Levels[level].Region != t.Levels[level].Region ||
			number(p.Levels[level].ThreadNum) != 0 {
			continue
		}
		if n := t.Levels[level-1].ThreadNum; n != nil {
			return fmt.Sprintf("forked by thread %d (LWP %d)", *n, lwp), level - 1
		}
	}
	return fmt.Sprintf("forked by LWP %d", lwp), level
}

// show tells the client of a frame.
func (v *view) show(f *frame) godap.StackFrame {
	if f.id == 0 {
		f.id = v.ids.next()
		v.shown[f.id] = f
	}
	if f.label != "" {
		return godap.StackFrame{Id: f.id, Name: f.label, PresentationHint: "label"}
	}
	out := godap.StackFrame{Id: f.id, Name: f.name(), Line: v.line(f.Line), Column: 0, Source: v.source(f.File)}
	if out.Source != nil && f.Line != 0 {
		out.Column = v.line(1)
	}
	if f.PC != nil {
		out.InstructionPointerReference = f.PC.String()
	}
	if f.Module != "" {
		out.ModuleId = f.Module
	}
	if f.Kind != picture.FrameUser {
		out.PresentationHint = "subtle"
	}
	return out
}

// line is a line as the client counts them.
func (v *view) line(n int) int {
	if !v.client.LinesStartAt1 && n > 0 {
		return n - 1
	}
	return n
}

// name is the function of a frame as the program's author knows it.
func (f *frame) name() string {
	name := f.Function
	switch {
	case f.Construct != "" && f.In != "":
		name = f.In + " [" + f.Construct + "]"
	case f.Construct != "":
		name += " [" + f.Construct + "]"
	case name == "" && f.PC != nil:
		name = f.PC.String()
	}
	if f.Goroutine != 0 {
		name += fmt.Sprintf(" [goroutine %d]", f.Goroutine)
	}
	if f.How != "" {
		name += " (" + f.How + ")"
	}
	return name
}

// source is a source file as the client can open it; nil if it is not known.
func (v *view) source(file string) *godap.Source {
	if file == "" {
		return nil
	}
	if s := v.sources[file]; s != nil {
		return s
	}
	s := &godap.Source{Name: filepath.Base(file), Path: v.mapped(file)}
	v.sources[file] = s
	if !exists(s.Path) {
		s.Origin, s.PresentationHint = "not on this machine: sourceMap says where it is", "deemphasize"
	}
	return s
}

// mapped is where a source file is on this machine: the longest prefix that fits counts,
// then the target's root.
func (v *view) mapped(file string) string {
	best, to := "", ""
	for from, place := range v.config.SourceMap {
		if len(from) > len(best) && (file == from || strings.HasPrefix(file, strings.TrimRight(from, "/")+"/")) {
			best, to = from, place
		}
	}
	if best != "" {
		return filepath.Join(to, strings.TrimPrefix(file, best))
	}
	if root := v.config.Sysroot; root != "" && filepath.IsAbs(file) {
		if below := filepath.Join(root, file); exists(below) {
			return below
		}
	}
	return file
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
