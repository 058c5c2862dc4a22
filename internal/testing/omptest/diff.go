package omptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
)

// Equal reports an error that names the compared value if got differs from want.
func Equal(tb testing.TB, what string, got, want any) bool {
	tb.Helper()
	if reflect.DeepEqual(got, want) {
		return true
	}
	tb.Errorf("%s: %v, want %v", what, shown(got), shown(want))
	return false
}

// shown formats a value for an error message: texts are quoted.
func shown(v any) string {
	switch reflect.ValueOf(v).Kind() {
	case reflect.String, reflect.Slice:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprintf("%+v", v)
}

// maxDiffs is the number of differences listed for two documents.
const maxDiffs = 30

// DiffJSON compares two JSON documents and returns a line for each place where they
// differ, with the path to it.
func DiffJSON(tb testing.TB, want, got []byte) []string {
	tb.Helper()
	var d differ
	d.compare("", parseJSON(tb, want), parseJSON(tb, got))
	if n := len(d.lines); n > maxDiffs {
		d.lines = append(d.lines[:maxDiffs], fmt.Sprintf("and %d more differences", n-maxDiffs))
	}
	return d.lines
}

// parseJSON parses a document and keeps the text of numbers.
func parseJSON(tb testing.TB, text []byte) any {
	tb.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	must(tb, d.Decode(&v))
	return v
}

// differ collects the differences of two documents.
type differ struct{ lines []string }

func (d *differ) add(path string, want, got any) {
	d.lines = append(d.lines, fmt.Sprintf("%s: %s, want %s", path, brief(got), brief(want)))
}

// absent stands for a value that one of the documents lacks.
type absent struct{}

func (absent) MarshalJSON() ([]byte, error) { return []byte(`"(nothing)"`), nil }

// brief returns the start of a value's text.
func brief(v any) string {
	const most = 200
	text, _ := json.Marshal(v)
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}

func (d *differ) compare(path string, want, got any) {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			d.objects(path, w, g)
			return
		}
	case []any:
		if g, ok := got.([]any); ok {
			d.lists(path, w, g)
			return
		}
	}
	if !reflect.DeepEqual(want, got) {
		d.add(path, want, got)
	}
}

func (d *differ) objects(path string, want, got map[string]any) {
	keys := slices.Sorted(maps.Keys(want))
	for key := range got {
		if _, ok := want[key]; !ok {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		d.compare(path+"."+key, valueOf(want, key), valueOf(got, key))
	}
}

// valueOf returns the value of a key, or absent.
func valueOf(object map[string]any, key string) any {
	if v, ok := object[key]; ok {
		return v
	}
	return absent{}
}

func (d *differ) lists(path string, want, got []any) {
	at := func(list []any, i int) any {
		if i < len(list) {
			return list[i]
		}
		return absent{}
	}
	for i := range max(len(want), len(got)) {
		d.compare(fmt.Sprintf("%s[%d]", path, i), at(want, i), at(got, i))
	}
}
