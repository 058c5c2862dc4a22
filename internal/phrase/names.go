package phrase

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// WithoutParameters returns the name of a C++ function without the types of its parameters and the text after them.
func WithoutParameters(name string) string {
	const operator, anonymous = "operator", "(anonymous namespace)"
	depth := 0 // of template arguments, and of the names of lambdas
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case strings.HasPrefix(name[i:], operator) && depth == 0 && (i == 0 || name[i-1] == ':' || name[i-1] == ' '):
			i += len(operator)
			if strings.HasPrefix(name[i:], "()") {
				i += len("()")
			}
			for i < len(name) && strings.IndexByte("<>=-+", name[i]) >= 0 {
				i++
			}
			i-- // the loop increments it
		case c == '<', c == '{':
			depth++
		case c == '>', c == '}':
			depth--
		case strings.HasPrefix(name[i:], anonymous):
			i += len(anonymous) - 1
		case c == '(' && depth == 0 && i > 0:
			return name[:i]
		}
	}
	return name
}

// PlainName returns the name of a C++ function without the types of its parameters and of its result, which only the
// names of template functions have. Operators keep that of their result.
func PlainName(name string) string {
	name = WithoutParameters(name)
	if !strings.HasSuffix(name, ">") || strings.Contains(name, "operator") {
		return name
	}
	depth := 0
	for i := len(name) - 1; i >= 0; i-- {
		switch c := name[i]; {
		case c == '>' && (i == 0 || name[i-1] != '-'), c == ')', c == '}':
			depth++
		case c == '<', c == '(', c == '{':
			depth--
		case c == ' ' && depth == 0:
			return name[i+1:]
		}
	}
	return name
}

// Lengths of names in characters: ShortName shortens those of more than mostOfName, and then keeps the template
// arguments of at most mostOfArguments.
const (
	mostOfName      = 80
	mostOfArguments = 24
)

// ShortName returns the name of a C++ function for a line of text. Names of more than 80 characters lose the types of
// their parameters and, if that is not enough, long template arguments: "run<…>(…)".
func ShortName(name string) string {
	if len(name) <= mostOfName { // bytes, which are at least as many
		return name
	}
	if short := WithoutParameters(name); short != name {
		name = short + "(…)"
	}
	if utf8.RuneCountInString(name) <= mostOfName {
		return name
	}
	return withoutArguments(name)
}

// withoutArguments returns a name with "<…>" for long template arguments.
func withoutArguments(name string) string {
	var b strings.Builder
	depth, from := 0, 0 // from is the start of the unwritten part
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '<' && !isOperator(name[:i]):
			if depth == 0 {
				b.WriteString(name[from:i])
				from = i
			}
			depth++
		case c == '>' && depth > 0 && name[i-1] != '-':
			if depth--; depth == 0 {
				if arguments := name[from : i+1]; utf8.RuneCountInString(arguments) <= mostOfArguments {
					b.WriteString(arguments)
				} else {
					b.WriteString("<…>")
				}
				from = i + 1
			}
		}
	}
	b.WriteString(name[from:])
	return b.String()
}

// isOperator reports whether a name ends with "operator" or a part of an operator's name, so that a "<" after it starts
// no template arguments.
func isOperator(name string) bool { return strings.HasSuffix(strings.TrimRight(name, "<"), "operator") }

// Printable replaces each unprintable character of s by Go's escape. The names in a program or core are untrusted: they
// could control a terminal, or change the direction of the text around them.
func Printable(s string) string {
	if IsPlain(s) || !strings.ContainsFunc(s, isOdd) {
		return s
	}
	var b strings.Builder
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		if isOdd(r) {
			quoted := strconv.QuoteToASCII(s[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	return b.String()
}

// IsPlain reports whether s is printable ASCII, as nearly all names are.
func IsPlain[S string | []byte](s S) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// isOdd reports whether a character is unprintable or invalid.
func isOdd(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
