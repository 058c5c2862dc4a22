package main

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// renamed returns a comment in which the Go name at its start is replaced by its word in JSON. "Held is the
// time" becomes "the time".
func renamed(doc, name, word string) string {
	doc = strings.TrimSpace(doc)
	after, ok := strings.CutPrefix(doc, name+" ")
	if !ok {
		return doc
	}
	for _, verb := range []string{"is ", "are "} {
		if rest, ok := strings.CutPrefix(after, verb); ok {
			return sentence(rest)
		}
	}
	return word + " " + after
}

var (
	// camel matches a Go name of two words or more, and inside a capital letter within a sentence.
	camel  = regexp.MustCompile(`\b[A-Z][a-z0-9]+([A-Z]+[a-z0-9]*)+\b`)
	inside = regexp.MustCompile(`[a-z,(] ?\b[A-Z][a-z]+\b`)
)

// keyed returns a comment in which names of Go fields are replaced by their keys.
func keyed(doc string, keys map[string]string) string {
	doc = camel.ReplaceAllStringFunc(doc, func(name string) string { return cmp.Or(keys[name], name) })
	return inside.ReplaceAllStringFunc(doc, func(match string) string {
		i := strings.IndexFunc(match, unicode.IsUpper)
		return match[:i] + cmp.Or(keys[match[i:]], match[i:])
	})
}

// sentence returns a comment as a sentence: with a capital letter, unless it starts with a key, and a period.
func sentence(doc string) string {
	doc = strings.Join(strings.Fields(doc), " ")
	if doc == "" {
		return ""
	}
	r, size := utf8.DecodeRuneInString(doc)
	doc = string(unicode.ToUpper(r)) + doc[size:]
	if !strings.ContainsAny(doc[len(doc)-1:], ".:?") {
		doc = strings.TrimSuffix(doc, ",") + "."
	}
	return doc
}

var hump = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// snake returns a Go name in the form of schema definitions: level_info.
func snake(name string) string { return strings.ToLower(hump.ReplaceAllString(name, "${1}_${2}")) }

// wrap breaks a text into lines of at most width bytes.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && len(line)+1+len(w) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(lines, line)
}
