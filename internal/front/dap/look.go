package dap

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/trace/history"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Attach is the configuration with which a client attaches. docs/guide/dap.md describes its form.
type Attach struct {
	// Target is a core, the number of a process, or another name that Config.Open accepts.
	Target Name `json:"target"`
	// Exe, Sysroot and DebugDirs name the files of the target's machine.
	Exe       string   `json:"exe"`
	Sysroot   string   `json:"sysroot"`
	DebugDirs []string `json:"debugDirs"`
	// Server is the address of a server that opens the target.
	Server string `json:"server"`
	// SourceMap maps prefixes of source paths to directories.
	SourceMap map[string]string `json:"sourceMap"`
	// RuntimeFrames asks for the frames of runtimes, too.
	RuntimeFrames bool `json:"runtimeFrames"`
	// Hold stops a process until it is continued; if it is not set, a process that hangs is stopped.
	Hold *bool `json:"hold"`
	// Secret admits a client of a TCP port.
	Secret string `json:"secret"`
}

// Name is the name of a target. Its JSON form may be a number.
type Name string

// UnmarshalJSON parses a string or a number.
func (n *Name) UnmarshalJSON(b []byte) error {
	var number json.Number
	if json.Unmarshal(b, &number) == nil {
		*n = Name(number)
		return nil
	}
	return json.Unmarshal(b, (*string)(n))
}

// debuggee is the open target of a client.
type debuggee struct {
	attachment Attach
	target     *engine.Target
	held       bool // the process is stopped until it is continued
	looks      int
	program    Program // started for the client; nil without one
	dying      func()  // lets a process die that is about to; nil without one
}

// close closes the target and ends the started program.
func (d *debuggee) close() error {
	err := d.closeTarget()
	d.proceed()
	if d.program != nil {
		err = errors.Join(err, d.program.Close())
		d.program = nil
	}
	return err
}

// closeTarget closes the target, which continues if it can.
func (d *debuggee) closeTarget() error {
	if d.target == nil {
		return nil
	}
	var err error
	if d.held {
		err = d.target.Resume()
	}
	err = errors.Join(err, d.target.Close())
	d.target, d.held = nil, false
	return err
}

// attach opens the target and takes a snapshot.
func (a *adapter) attach(ctx context.Context, args Attach) (_ *nothing, err error) {
	if a.phase == attach {
		return nil, errors.New("attach: a target is open; one session has one")
	}
	if err := a.admit(args.Secret); err != nil {
		return nil, fmt.Errorf("attach: %w", err)
	}
	a.reportUnknownKeys(args)
	if args.Target == "" {
		return nil, errors.New(`attach: which target? "target" is a core file or the number of a process`)
	}
	a.attachment = args
	if a.target, err = a.config.Open(a.life, args); err != nil {
		return nil, err
	}
	a.gone = watchEnd(a.life, args)
	if err := a.look(ctx); err != nil {
		return nil, errors.Join(err, a.close())
	}
	if err := a.holdAttached(ctx); err != nil {
		return nil, errors.Join(err, a.close())
	}
	a.phase = attach
	a.addDeferred(a.begin)
	return nil, nil
}

// snapshotQuestion returns the question of a snapshot.
func snapshotQuestion() engine.Query {
	q := engine.Report()
	q.Native, q.ICVs = true, true
	return q
}

// look takes a snapshot of the target and invalidates the previous one.
func (a *adapter) look(ctx context.Context) error {
	pic, err := a.ask(ctx, snapshotQuestion())
	if err != nil {
		return err
	}
	a.looks++
	a.view = newView(pic, a.attachment, a.client, &a.ids)
	a.view.recorded = func(lwp, n int) ([]picture.Event, error) { return history.LastEvents(a.target, lwp, n) }
	return nil
}

// ask asks the target a question.
func (a *adapter) ask(ctx context.Context, q engine.Query) (*picture.Picture, error) {
	t, err := a.opened()
	if err != nil {
		return nil, err
	}
	answer, err := t.Look(ctx, q)
	if err != nil {
		return nil, err
	}
	return answer.Picture, answer.Close()
}

// threadQuestion returns the question for parts of one thread.
func threadQuestion(lwp int, parts picture.Parts) engine.Query {
	return engine.Query{Parts: parts, Only: picture.Only{LWP: lwp}, Budget: engine.DefaultBudget}
}

// begin sends the client the first stop when it is attached and has sent configurationDone. Clients send these
// in either order.
func (a *adapter) begin() {
	if a.begun || !a.ready || a.phase != attach {
		return
	}
	a.begun = true
	about := a.view.pic.Target
	method := "attach"
	if a.program != nil {
		method = "launch"
	}
	a.sendEvent("process", godap.ProcessEventBody{
		Name: cmp.Or(about.Executable, about.Name()), SystemProcessId: about.PID,
		IsLocalProcess: about.Kind == picture.TargetProcess, StartMethod: method, PointerSize: pointerBits,
	})
	if a.program != nil {
		return
	}
	a.sendEvent(eventChanged, a.changed())
	a.sendStopped()
}

// pointerBits is the size of an address on all supported architectures.
const pointerBits = 64

// sendStopped sends the client the event of the stop, with its reason.
func (a *adapter) sendStopped() {
	v := a.view
	a.print(console, v.header())
	if a.isLive() && !a.held {
		a.print(console, "the process is running: this is a snapshot. Continue, then pause, stops it and takes a new "+
			"one; so does \"hold\": true in the configuration")
	}
	// Editors show the description beside the thread's name.
	body := godap.StoppedEventBody{
		Reason: "pause", AllThreadsStopped: true, ThreadId: v.firstThread(), Description: "Paused",
	}
	if reason, ok := v.reason(); ok {
		a.print(important, reason.output())
		body.Reason, body.Description, body.Text = "exception", reason.title, reason.text
	}
	for _, w := range v.pic.Warnings {
		a.print(console, "! "+w)
	}
	a.sendEvent("stopped", body)
}

// reason is the reason of a stop, in words for the user.
type reason struct {
	id      string // the kind of the verdict, or the signal
	title   string // such as DEADLOCK
	text    string // with the threads: "DEADLOCK: threads 0 and 1"
	verdict *picture.Verdict
}

// maxReasonSteps bounds the threads of a deadlock that the console names.
const maxReasonSteps = 4

// output returns the reason as the console shows it.
func (r *reason) output() string {
	if r.verdict == nil {
		return r.text
	}
	v := r.verdict
	lines := []string{fmt.Sprintf("%s  %s (%s)", r.title, v.Summary, v.Certainty)}
	if len(v.Cycle) > 1 {
		lines = append(lines, v.Evidence[:min(len(v.Evidence), maxReasonSteps)]...)
	}
	if v.Explanation != "" {
		lines = append(lines, v.Explanation)
	}
	if v.Fix != "" {
		lines = append(lines, "fix: "+v.Fix)
	}
	return strings.Join(append(lines, "`omp report` shows everything"), "\n")
}

// hangs reports whether there is a verdict of a hang.
func (v *view) hangs() bool {
	return slices.ContainsFunc(v.pic.Verdicts, diagnose.Hangs)
}

// reason returns the worst verdict of a hang or a crash, or else the signal that ended the program.
func (v *view) reason() (*reason, bool) {
	for i := range v.pic.Verdicts {
		if w := &v.pic.Verdicts[i]; w.Severity == picture.SeverityCrash || diagnose.Hangs(*w) {
			return v.verdictReason(w), true
		}
	}
	if t := v.pic.Target; t.Signal != "" {
		text := t.Signal
		if t.CrashedLWP != 0 {
			text += ": " + v.describeThreads([]int{t.CrashedLWP})
		}
		return &reason{id: t.Signal, title: t.Signal, text: text}, true
	}
	return nil, false
}

// verdictReason returns a verdict as a reason.
func (v *view) verdictReason(w *picture.Verdict) *reason {
	title := cmp.Or(diagnose.Heading(w), strings.ToUpper(string(w.Kind)))
	text := title
	if len(w.Threads) > 0 {
		text += ": " + v.describeThreads(w.Threads)
	}
	return &reason{id: string(w.Kind), title: title, text: text, verdict: w}
}

// exceptionInfo returns the reason of the stop: the worst of the verdicts on a thread, or that of the whole
// target.
func (v *view) exceptionInfo(
	_ context.Context, args godap.ExceptionInfoArguments,
) (body godap.ExceptionInfoResponseBody, err error) {
	r, ok := v.threadReason(args.ThreadId)
	if !ok {
		return body, errors.New("there is no verdict")
	}
	body = godap.ExceptionInfoResponseBody{ExceptionId: r.id, Description: r.text, BreakMode: "always"}
	if w := r.verdict; w != nil {
		message := w.Explanation
		if w.Fix != "" {
			message += "\nfix: " + w.Fix
		}
		message = strings.TrimSpace(message)
		// Editors show the description; VS Code shows no message.
		body.Description = strings.TrimSpace(w.Summary + "\n" + message)
		body.Details = &godap.ExceptionDetails{
			Message: message, TypeName: r.title, FullTypeName: fmt.Sprintf("%s (%s)", w.Kind, w.Certainty),
			StackTrace: strings.Join(v.evidence(w), "\n"),
		}
	}
	return body, nil
}

// evidence returns the evidence of a verdict, one line each: of a cycle its steps, with the threads by their numbers.
func (v *view) evidence(w *picture.Verdict) []string {
	if len(w.Cycle) == 0 {
		return w.Evidence
	}
	var lines []string
	for _, s := range w.Cycle {
		what := strings.TrimSpace(string(s.WaitsFor.Kind) + " " + s.WaitsFor.Name)
		line := fmt.Sprintf("%s waits for %s, held by %s: %s", v.shortName(s.Thread), what, v.shortName(s.HeldBy),
			s.HeldEvidence)
		lines = append(lines, strings.TrimSuffix(line, ": "))
	}
	return lines
}

// threadReason returns the reason for one thread.
func (v *view) threadReason(id int) (*reason, bool) {
	t := v.byID[id]
	for i := range v.pic.Verdicts {
		w := &v.pic.Verdicts[i]
		for _, lwp := range w.Threads {
			if t != nil && t.LWP == lwp && w.Severity.Rank() <= picture.SeverityHang.Rank() {
				return v.verdictReason(w), true
			}
		}
	}
	return v.reason()
}
