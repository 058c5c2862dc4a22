// Package pprof encodes profiles for pprof(1).
package pprof

import "google.golang.org/protobuf/encoding/protowire"

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

	valueType, valueUnit                      = 1, 2
	sampleLocation, sampleValue, sampleLabel  = 1, 2, 3
	labelKey, labelText                       = 1, 2
	locationID, locationAddress, locationLine = 1, 3, 4
	lineFunction, lineNumber                  = 1, 2
	functionID, functionName, functionFile    = 1, 2, 4
)

// Profile is a profile in the making: samples, each a stack with values.
type Profile struct {
	message   []byte
	strings   map[string]uint64
	texts     []string
	locations map[line]uint64
}

// line is a line of a function.
type line struct {
	function, file string
	number         int
}

// Frame is a frame of a stack.
type Frame struct {
	Function, File string
	Line           int    // 0: unknown
	Address        uint64 // 0: unknown; that of the first frame of its line is written
}

// Value is the name and the unit of a value of each sample.
type Value struct{ Name, Unit string }

// Label is a text on a sample.
type Label struct{ Key, Text string }

// New returns a profile whose samples have these values.
func New(values ...Value) *Profile {
	p := &Profile{strings: map[string]uint64{}, locations: map[line]uint64{}}
	p.text("") // the format requires it to be the first
	for _, v := range values {
		p.message = appendMessage(p.message, profileSampleType,
			appendNumber(appendNumber(nil, valueType, p.text(v.Name)), valueUnit, p.text(v.Unit)))
	}
	return p
}

// AddSample adds a stack, its frames innermost first, with its values in the order of New. Labels without a text are
// left out.
func (p *Profile) AddSample(frames []Frame, values []uint64, labels ...Label) {
	var ids, numbers []byte
	for _, f := range frames {
		ids = protowire.AppendVarint(ids, p.location(f))
	}
	for _, v := range values {
		numbers = protowire.AppendVarint(numbers, v)
	}
	one := appendMessage(appendMessage(nil, sampleLocation, ids), sampleValue, numbers)
	for _, l := range labels {
		if l.Text != "" {
			one = appendMessage(one, sampleLabel,
				appendNumber(appendNumber(nil, labelKey, p.text(l.Key)), labelText, p.text(l.Text)))
		}
	}
	p.message = appendMessage(p.message, profileSample, one)
}

// AddComment adds a comment.
func (p *Profile) AddComment(s string) {
	p.message = appendNumber(p.message, profileComment, p.text(s))
}

// Encode returns the message. nanoseconds is the duration of the profile, value the name of the value that pprof shows
// first. pprof reads it with or without gzip.
func (p *Profile) Encode(nanoseconds uint64, value string) []byte {
	out := appendNumber(p.message, profileDuration, nanoseconds)
	out = appendNumber(out, profileDefault, p.text(value))
	for _, s := range p.texts {
		out = appendMessage(out, profileString, []byte(s))
	}
	return out
}

// text returns the number of a text in the table of strings.
func (p *Profile) text(s string) uint64 {
	n, ok := p.strings[s]
	if !ok {
		n = uint64(len(p.texts))
		p.strings[s] = n
		p.texts = append(p.texts, s)
	}
	return n
}

// location returns the number of a frame's line. On first use, it writes the line, with a function of the same number:
// pprof joins functions by name and file.
func (p *Profile) location(f Frame) uint64 {
	key := line{f.Function, f.File, f.Line}
	id, ok := p.locations[key]
	if ok {
		return id
	}
	id = uint64(len(p.locations)) + 1
	p.locations[key] = id
	b := appendNumber(appendNumber(nil, functionID, id), functionName, p.text(f.Function))
	p.message = appendMessage(p.message, profileFunction, appendNumber(b, functionFile, p.text(f.File)))
	at := appendNumber(appendNumber(nil, lineFunction, id), lineNumber, uint64(f.Line))
	b = appendNumber(appendNumber(nil, locationID, id), locationAddress, f.Address)
	p.message = appendMessage(p.message, profileLocation, appendMessage(b, locationLine, at))
	return id
}

func appendNumber(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendMessage(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}
