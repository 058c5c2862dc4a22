package phrase

import "strings"

// WithoutParameters is the name of a function of C++ as sentences have it, without the types of
// its parameters and what follows them.
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
			i-- // the loop goes on to the next
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
