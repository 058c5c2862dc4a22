package export

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
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
		for i := len(s.Frames) - 1; i >= 0; i-- {
			w.WriteString(foldedName(s.Frames[i]))
			if i > 0 {
				w.WriteByte(';')
			}
		}
		w.WriteString(" " + strconv.Itoa(microseconds(s.Seconds)) + "\n")
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

// Numbers of the fields of pprof's messages (profile.proto).
const (
	profileSampleType = 1
	profileSample     = 2
	profileLocation   = 4
	profileFunction   = 5
	profileString     = 6
	profileDuration   = 10
	profileComment    = 13
	profileDefault    = 14

	valueType, valueUnit                   = 1, 2
	sampleLocation, sampleValue, sampleTag = 1, 2, 3
	tagKey, tagText                        = 1, 2
	locationID, locationLine               = 1, 4
	lineFunction, lineNumber               = 1, 2
	functionID, functionName, functionFile = 1, 2, 4
)

// PprofStart is the start of a file that ProfilePprof wrote: gzip's header with a comment.
const PprofStart = "\x1f\x8b\x08\x10\x00\x00\x00\x00\x00\xffompd-inspect"

// pprof encodes a profile for pprof(1).
type pprof struct {
	message   []byte
	strings   map[string]uint64
	texts     []string
	functions map[[2]string]uint64 // by name and file
	locations map[location]uint64
}

// location is a line of a function.
type location struct {
	function uint64
	line     int
}

// ProfilePprof writes a profile for pprof(1). A stack has four values: samples of threads, and its time, Work and Wait
// in nanoseconds; labels have the kind and the name of the awaited thing.
func ProfilePprof(w io.Writer, p *picture.Profile) error {
	e := &pprof{strings: map[string]uint64{}, functions: map[[2]string]uint64{},
		locations: map[location]uint64{}}
	e.text("")
	for _, t := range [][2]string{{"samples", "count"}, {"time", "nanoseconds"}, {"work", "nanoseconds"},
		{"wait", "nanoseconds"}} {
		e.message = appendMessage(e.message, profileSampleType,
			appendNumber(appendNumber(nil, valueType, e.text(t[0])), valueUnit, e.text(t[1])))
	}
	for _, s := range p.Stacks {
		e.addStack(&s)
	}
	e.message = appendNumber(e.message, profileDuration, nanoseconds(p.Seconds))
	e.message = appendNumber(e.message, profileComment, e.text("made by ompd-inspect profile"))
	e.message = appendNumber(e.message, profileDefault, e.text("time"))
	for _, s := range e.texts {
		e.message = appendMessage(e.message, profileString, []byte(s))
	}
	z := gzip.NewWriter(w)
	z.Comment = "ompd-inspect"
	_, err := z.Write(e.message)
	return errors.Join(err, z.Close())
}

func nanoseconds(seconds float64) uint64 { return uint64(math.Round(max(seconds, 0) * 1e9)) }

// addStack adds a sample, its frames innermost first.
func (e *pprof) addStack(s *picture.ProfileStack) {
	var ids, values []byte
	for _, f := range s.Frames {
		ids = protowire.AppendVarint(ids, e.location(f))
	}
	work, wait := 0., 0.
	switch s.Class {
	case picture.ProfileWork:
		work = s.Seconds
	case picture.ProfileWaits:
		wait = s.Seconds
	}
	values = protowire.AppendVarint(values, uint64(s.Samples))
	for _, seconds := range []float64{s.Seconds, work, wait} {
		values = protowire.AppendVarint(values, nanoseconds(seconds))
	}
	one := appendMessage(appendMessage(nil, sampleLocation, ids), sampleValue, values)
	for _, tag := range [][2]string{{"class", string(s.Class)}, {"wait", s.Kind}, {"name", phrase.Printable(s.Name)}} {
		if tag[1] != "" {
			one = appendMessage(one, sampleTag,
				appendNumber(appendNumber(nil, tagKey, e.text(tag[0])), tagText, e.text(tag[1])))
		}
	}
	e.message = appendMessage(e.message, profileSample, one)
}

// text returns the number of a text in the table of strings.
func (e *pprof) text(s string) uint64 {
	n, ok := e.strings[s]
	if !ok {
		n = uint64(len(e.texts))
		e.strings[s] = n
		e.texts = append(e.texts, s)
	}
	return n
}

// function returns the number of a frame's function, and writes it on first use.
func (e *pprof) function(f picture.Frame) uint64 {
	if f.Line = 0; f.Function != "" {
		f.Module = "" // the name is enough
	}
	key := [2]string{phrase.Printable(phrase.Where(f)), phrase.Printable(f.File)}
	id, ok := e.functions[key]
	if !ok {
		id = uint64(len(e.functions)) + 1
		e.functions[key] = id
		b := appendNumber(appendNumber(nil, functionID, id), functionName, e.text(key[0]))
		e.message = appendMessage(e.message, profileFunction, appendNumber(b, functionFile, e.text(key[1])))
	}
	return id
}

// location returns the number of a frame's line, and writes it on first use.
func (e *pprof) location(f picture.Frame) uint64 {
	key := location{e.function(f), max(f.Line, 0)}
	id, ok := e.locations[key]
	if !ok {
		id = uint64(len(e.locations)) + 1
		e.locations[key] = id
		line := appendNumber(appendNumber(nil, lineFunction, key.function), lineNumber, uint64(key.line))
		e.message = appendMessage(e.message, profileLocation,
			appendMessage(appendNumber(nil, locationID, id), locationLine, line))
	}
	return id
}

func appendNumber(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendMessage(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}
