// Package web draws a picture as one page of HTML that needs no network and is readable without scripts. The
// layout is computed here; the script only folds, searches and, on a served page, requests a new snapshot.
package web

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

//go:embed page.tmpl job.tmpl profile.tmpl page.css page.js
var files embed.FS

// Start is the start of each page.
const Start = "<!DOCTYPE html>\n<!-- ompd-inspect: a picture of an OpenMP program -->"

// Options are the parts of a page other than its picture.
type Options struct {
	// NoVerdict is the text of a picture without a verdict.
	NoVerdict string
	// Contention names the holders of the locks that most threads wait for.
	Contention []string
	// Consequences returns lines on what follows from a verdict; nil: not shown.
	Consequences func(*picture.Verdict) []string
	// Source opens a source file by its name in the debug information; nil: no sources are shown.
	Source func(name string) (io.ReadCloser, error)
	// Refresh is the time in seconds after which a served page refreshes; 0: never.
	Refresh int
	// Made is the time, the host and the version of the tool that made the page; "": not shown.
	Made string
}

// page is the data of the template.
type page struct {
	assets
	Refresh   int
	Title     string
	What      string // the target
	Facts     []fact
	Verdicts  []verdict
	Notes     []string
	NoVerdict string
	Made      string
	Contended []string // the holders of the locks that most threads wait for
	Graph     *graph
	Timeline  *timeline
	Icicle    *icicle
	Body      body
}

// body is the parts below the graphs.
type body struct {
	Stacks   stacks
	Regions  []*region
	Squares  []struct{ Class, Name string } // legend of the members of regions
	Threads  threads
	Tasks    tasks
	Loops    []loop
	Cores    *cores
	Sources  []source
	Warnings []string
}

// fact is one line on the target as a whole.
type fact struct{ Name, Value string }

// verdict is a verdict in the form of the page.
type verdict struct {
	*picture.Verdict
	Heading string
	Steps   []step
	More    int // steps that are left out
	// Frames is the stack of the thread that died.
	Frames  []frame
	Sources []source
	// Consequences are lines on the threads that wait for those of the verdict.
	Consequences []string
}

// step is one thread of a deadlock.
type step struct {
	Who, WaitsFor, Relation, Holder, Evidence string

	Frames []frame
}

// frame is a line of a stack.
type frame struct {
	Text   string
	Pseudo bool
	Forked string // name of the thread of this frame and those below it
}

// maxNotes bounds the lines of information.
const maxNotes = 40

// Write draws a picture.
func Write(w io.Writer, pic *picture.Picture, o Options) error {
	a, err := newAssets(o.Refresh > 0)
	if err != nil {
		return err
	}
	return draw(w, "page.tmpl", newPage(pic, o, a))
}

// assets are the style and the script of a page, and their policy.
type assets struct {
	CSP string
	CSS template.CSS
	JS  template.JS
}

// newAssets returns the assets of a page. served is set if a server sends new ones.
func newAssets(served bool) (assets, error) {
	css, err1 := files.ReadFile("page.css")
	js, err2 := files.ReadFile("page.js")
	if err := cmp.Or(err1, err2); err != nil {
		return assets{}, fmt.Errorf("the page: %w", err)
	}
	// #nosec G203 -- these are files of this package
	return assets{policy(css, js, served), template.CSS(css), template.JS(js)}, nil
}

// draw writes a page by a template of this package.
func draw(w io.Writer, name string, page any) error {
	t, err := template.New(name).Funcs(template.FuncMap{"plain": plain}).ParseFS(files, name)
	if err != nil {
		return fmt.Errorf("the page's template: %w", err)
	}
	var b bytes.Buffer
	b.WriteString(Start)
	if err := t.Execute(&b, page); err != nil {
		return fmt.Errorf("the page: %w", err)
	}
	_, err = w.Write(printable(b.Bytes()))
	return err
}

// newPage lays out a page.
func newPage(pic *picture.Picture, o Options, a assets) *page {
	n := newNames(pic)
	p := &page{
		assets: a, Refresh: o.Refresh,
		Title: title(pic), What: string(pic.Target.Kind) + " " + pic.Target.Name(), Facts: facts(pic),
		NoVerdict: o.NoVerdict, Made: o.Made,
		Contended: o.Contention,
		Graph:     newGraph(pic, n), Timeline: newTimeline(pic, n), Icicle: newIcicle(pic, n),
		Body: body{
			Stacks: newStacks(pic, n), Regions: newRegions(pic, n), Threads: newThreads(pic, n),
			Tasks: newTasks(pic, n), Loops: newLoops(pic, n), Cores: newCores(pic, n), Warnings: pic.Warnings,
		},
	}
	p.Body.Squares = regionLegend(p.Body.Regions)
	p.addVerdicts(pic, n, o)
	if more := len(p.Notes) - maxNotes; more > 0 {
		p.Notes = append(p.Notes[:maxNotes], fmt.Sprintf("… and %d more", more))
	}
	return p
}

// addVerdicts adds the verdicts with their sources and consequences, and the sources without a verdict.
func (p *page) addVerdicts(pic *picture.Picture, n *names, o Options) {
	var rest []spot
	died := crashSpots(pic)
	for i := range pic.Verdicts {
		v := &pic.Verdicts[i]
		spots := verdictSpots(v, n)
		if v.Severity == picture.SeverityInfo {
			p.Notes = append(p.Notes, v.Summary)
			rest = append(rest, spots...)
			continue
		}
		if diagnose.Cause(v, pic.Verdicts) != nil {
			continue
		}
		one := newVerdict(v, n)
		if v.Severity == picture.SeverityCrash && len(one.Steps) == 0 {
			one.Frames = n.newFrames(pic.Target.Frames)
			spots, died = append(died, spots...), nil
		}
		one.Sources = newSources(spots, o.Source)
		if o.Consequences != nil {
			one.Consequences = o.Consequences(v)
		}
		p.Verdicts = append(p.Verdicts, one)
	}
	p.Body.Sources = newSources(append(rest, died...), o.Source)
}

// plain returns a text without the backquotes around commands.
func plain(s string) string { return strings.ReplaceAll(s, "`", "") }

// policy returns the content security policy: no network, and only the page's own style and script. A served
// page may also request a new one from its server.
func policy(css, js []byte, served bool) string {
	hash := func(b []byte) string {
		sum := sha256.Sum256(b)
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	s := "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + hash(css) + "; script-src " + hash(js)
	if served {
		s += "; connect-src 'self'"
	}
	return s
}

// title returns the name of the program and its process.
func title(pic *picture.Picture) string {
	t := pic.Target
	command, _, _ := strings.Cut(t.Command, " ")
	s := filepath.Base(cmp.Or(t.Executable, command, t.Path, string(t.Kind)))
	if t.PID != 0 {
		s += fmt.Sprintf(" (pid %d)", t.PID)
	}
	return s
}

// facts returns the facts on the target as a whole.
func facts(pic *picture.Picture) (out []fact) {
	t := pic.Target
	add := func(name, value string) {
		if value != "" {
			out = append(out, fact{name, value})
		}
	}
	if t.Signal != "" {
		s := t.Signal
		if t.FaultAddress != nil {
			s += " at address " + t.FaultAddress.String()
		}
		if t.CrashedLWP != 0 {
			s += fmt.Sprintf(" in LWP %d", t.CrashedLWP)
		}
		add("signal", s)
	}
	add("command", t.Command)
	for _, r := range pic.Runtimes {
		s := strings.TrimSpace(r.Name+" "+r.Version) + ", " + r.Path
		if r.Tracking {
			s += ", states tracked"
		}
		add("runtime", s)
	}
	if set := phrase.Environment(pic); len(set) > 0 {
		add("environment", strings.Join(set, " "))
	}
	on := string(t.Arch)
	if n := phrase.Processors(pic); n > 0 {
		on = phrase.Count(n, "processor") + ", " + on
	}
	add("threads", fmt.Sprintf("%d, on %s", t.Threads, on))
	add("time", phrase.Times(t.Elapsed, t.CPU))
	if p := t.Pause; p != nil && p.Stops > 0 {
		add("stopped", fmt.Sprintf("%s for %.1f ms", phrase.Count(p.Threads, "thread"), float64(p.Microseconds)/1000))
	}
	return out
}

// newVerdict returns a verdict in the page's form.
func newVerdict(v *picture.Verdict, n *names) verdict {
	out := verdict{Verdict: v, Heading: cmp.Or(diagnose.Heading(v), strings.ToUpper(string(v.Kind)))}
	for i, s := range v.Cycle {
		if i == maxSteps {
			out.More = len(v.Cycle) - i
			break
		}
		out.Steps = append(out.Steps, step{
			Who: n.nameOf(s.Thread), WaitsFor: phrase.Target(s.WaitsFor), Relation: phrase.HeldBy(s),
			Holder:   n.nameOf(s.HeldBy),
			Evidence: s.HeldEvidence,
			Frames:   n.newFrames(s.Frames),
		})
	}
	return out
}

// maxSteps bounds the threads of a deadlock with a shown stack, and maxRanges the numbers and ranges of processors
// in a line.
const (
	maxSteps  = 32
	maxRanges = 24
)

// newFrames returns the frames of a stack in the page's form; each call of the C++ standard library is one.
func (n *names) newFrames(fs []picture.Frame) (out []frame) {
	i := 0
	for i < len(fs) && len(out) < maxFrames {
		if calls := phrase.LibraryCall(fs, i); calls > 0 {
			i += calls
			out = append(out, frame{Text: phrase.LibraryFunction(fs[i-1]), Pseudo: true})
			continue
		}
		f := fs[i]
		text := phrase.Where(f)
		if guess := f.Guess(); guess != "" {
			text += "  " + guess
		}
		line := frame{Text: text, Pseudo: f.Kind == picture.FramePseudo}
		if f.LWP != 0 {
			line.Forked = n.nameOf(f.LWP)
		}
		out = append(out, line)
		i++
	}
	if more := len(fs) - i; more > 0 {
		out = append(out, frame{Text: fmt.Sprintf("… %s", phrase.Count(more, "more frame")), Pseudo: true})
	}
	return out
}

// maxFrames bounds the frames of a stack: a recursion may have a million.
const maxFrames = 64

// printable returns a page with its unprintable characters escaped, except for line feeds: the names in a program are
// untrusted.
func printable(b []byte) []byte {
	odd := func(r rune) bool { return r != '\n' && (r == utf8.RuneError || !unicode.IsPrint(r)) }
	if !bytes.ContainsFunc(b, odd) {
		return b
	}
	var out bytes.Buffer
	for line := range slices.Values(bytes.SplitAfter(b, []byte("\n"))) {
		end := bytes.TrimSuffix(line, []byte("\n"))
		out.WriteString(phrase.Printable(string(end)))
		out.Write(line[len(end):])
	}
	return out.Bytes()
}
