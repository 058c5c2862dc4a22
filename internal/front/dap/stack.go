package dap

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// frame is a line of a thread's stack as the client shows it.
type frame struct {
	picture.Frame
	thread *thread
	label  string // text of a line that is not a frame: the stack continues in that of another thread
	index  int    // among the frames of the stack, without labels
	id     int    // 0 until it was sent to the client
}

// maxPage is the number of frames for a client that does not request a number.
const maxPage = 1000

// stackTrace returns a part of a stack.
func (v *view) stackTrace(
	_ context.Context, args godap.StackTraceArguments,
) (body godap.StackTraceResponseBody, err error) {
	t := v.byID[args.ThreadId]
	if t == nil {
		return body, fmt.Errorf("there is no thread %d", args.ThreadId)
	}
	all := v.buildStack(t)
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

// buildStack returns the lines of a thread's stack, innermost first.
func (v *view) buildStack(t *thread) []*frame {
	if t.stack != nil {
		return t.stack
	}
	owner, level := t.LWP, len(t.Levels)-1
	for i, f := range v.framesOf(t.Thread) {
		if f.LWP != 0 && f.LWP != owner {
			var text string
			text, level = v.forkLabel(t, f.LWP, level)
			owner = f.LWP
			t.stack = append(t.stack, &frame{thread: t, label: text})
		}
		t.stack = append(t.stack, &frame{Frame: f, thread: t, index: i})
	}
	return t.stack
}

// framesOf returns the frames of a thread's stack: those of the user's model. With runtime frames, it returns
// the thread's native frames, then those of other threads.
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

// forkLabel returns the line after which a stack continues in that of thread lwp, which forked a region of t at
// most as deep as level. outer is the level of the forking thread.
func (v *view) forkLabel(t *thread, lwp, level int) (text string, outer int) {
	p := v.lwps[lwp]
	for ; p != nil && level > 0; level-- {
		if level >= len(p.Levels) || p.Levels[level].Region != t.Levels[level].Region ||
			sortKey(p.Levels[level].ThreadNum) != 0 {
			continue
		}
		if n := t.Levels[level-1].ThreadNum; n != nil {
			return fmt.Sprintf("forked by thread %d (LWP %d)", *n, lwp), level - 1
		}
	}
	return fmt.Sprintf("forked by LWP %d", lwp), level
}

// show returns a frame in the protocol's form.
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
	if f.isLibrary() {
		out.PresentationHint = "subtle"
	}
	return out
}

// line returns a line number as the client counts.
func (v *view) line(n int) int {
	if !v.client.LinesStartAt1 && n > 0 {
		return n - 1
	}
	return n
}

// isLibrary reports whether a frame is in code that the program's author did not write: that of a library, or of a
// header of the C++ standard library or of the system. Editors show the first other frame.
func (f *frame) isLibrary() bool {
	return f.Kind != picture.FrameUser || f.InStandardLibrary() || f.InSystemHeader()
}

// name returns the function of a frame as the program's author knows it.
func (f *frame) name() string {
	name := phrase.ShortName(f.Function)
	switch {
	case f.Construct != "" && f.In != "":
		name = phrase.ShortName(f.In) + " [" + f.Construct + "]"
	case f.Construct != "":
		name += " [" + f.Construct + "]"
	case name == "" && f.PC != nil:
		name = f.PC.String()
	}
	if f.Goroutine != 0 {
		name += fmt.Sprintf(" [goroutine %d]", f.Goroutine)
	}
	if guess := f.Guess(); guess != "" {
		name += " (" + guess + ")"
	}
	return name
}

// source returns a source file in the protocol's form; nil if it is not known.
func (v *view) source(file string) *godap.Source {
	if file == "" {
		return nil
	}
	if s := v.sources[file]; s != nil {
		return s
	}
	s := &godap.Source{Name: filepath.Base(file), Path: v.mapPath(file)}
	v.sources[file] = s
	if !exists(s.Path) {
		s.Origin, s.PresentationHint = "not on this machine: set its directory by sourceMap", "deemphasize"
	}
	return s
}

// mapPath returns the path of a source file on this machine: by the longest matching prefix, then below the
// target's root.
func (v *view) mapPath(file string) string {
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
