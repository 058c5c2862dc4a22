package export

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"math"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/internal/pprof"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// microseconds returns a time in whole microseconds.
func microseconds(seconds float64) int { return int(math.Round(seconds * 1e6)) }

// ProfileFolded writes one stack of a profile per line, outermost frame first, with its time in microseconds.
func ProfileFolded(out io.Writer, p *picture.Profile) error {
	w := bufio.NewWriter(out)
	for _, s := range p.Stacks {
		if len(s.Frames) == 0 {
			w.WriteString("(no stack)")
		}
		writeFolded(w, s.Frames, microseconds(s.Seconds))
	}
	return w.Flush()
}

// ProfileSpeedscope writes a profile for speedscope: all time, Work, and Wait, each as a profile of its own.
func ProfileSpeedscope(w io.Writer, p *picture.Profile) error {
	frames := newFrameTable()
	file := speedscope{
		Schema: SpeedscopeSchema, Exporter: "ompd-inspect", Name: phrase.Printable("profile " + p.Target.Name()),
	}
	for _, part := range []struct {
		name  string
		class picture.ProfileClass
	}{{"time of all threads", ""}, {"OpenMP Work", picture.ProfileWork}, {"OpenMP Wait", picture.ProfileWaits}} {
		one := speedscopeProfile{
			Type: "sampled", Name: part.name, Unit: "microseconds", Samples: [][]int{}, Weights: []int{},
		}
		for _, s := range p.Stacks {
			if part.class != "" && s.Class != part.class {
				continue
			}
			weight := microseconds(s.Seconds)
			one.Samples = append(one.Samples, frames.sample(s.Frames))
			one.Weights = append(one.Weights, weight)
			one.EndValue += weight
		}
		file.Profiles = append(file.Profiles, one)
	}
	file.Shared = speedscopeShared{frames.list}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(file)
}

// PprofStart is the start of a file that ProfilePprof wrote: gzip's header with a comment.
const PprofStart = "\x1f\x8b\x08\x10\x00\x00\x00\x00\x00\xffompd-inspect"

// ProfilePprof writes a profile for pprof(1). A stack has four values: samples of threads, and its time, Work and Wait
// in nanoseconds; labels have the kind and the name of the awaited thing.
func ProfilePprof(w io.Writer, p *picture.Profile) error {
	const unit = "nanoseconds"
	out := pprof.New(pprof.Value{Name: "samples", Unit: "count"}, pprof.Value{Name: "time", Unit: unit},
		pprof.Value{Name: "work", Unit: unit}, pprof.Value{Name: "wait", Unit: unit})
	for _, s := range p.Stacks {
		var frames []pprof.Frame
		for _, f := range s.Frames {
			frames = append(frames, pprofFrame(f))
		}
		work, wait := 0., 0.
		switch s.Class {
		case picture.ProfileWork:
			work = s.Seconds
		case picture.ProfileWaits:
			wait = s.Seconds
		}
		values := []uint64{uint64(s.Samples), nanoseconds(s.Seconds), nanoseconds(work), nanoseconds(wait)}
		out.AddSample(frames, values, pprof.Label{Key: "class", Text: string(s.Class)},
			pprof.Label{Key: "wait", Text: s.Kind}, pprof.Label{Key: "name", Text: phrase.Printable(s.Name)})
	}
	out.AddComment("made by ompd-inspect profile")
	z := gzip.NewWriter(w)
	z.Comment = "ompd-inspect"
	_, err := z.Write(out.Encode(nanoseconds(p.Seconds), "time"))
	return errors.Join(err, z.Close())
}

func nanoseconds(seconds float64) uint64 { return uint64(math.Round(max(seconds, 0) * 1e9)) }

// pprofFrame returns a frame in the form of pprof, which has the line apart from the function.
func pprofFrame(f picture.Frame) pprof.Frame {
	out := pprof.Frame{File: phrase.Printable(f.File), Line: max(f.Line, 0)}
	if f.Line = 0; f.Function != "" {
		f.Module = "" // the name is enough
	}
	out.Function = phrase.Printable(phrase.WhereWhole(f))
	return out
}
