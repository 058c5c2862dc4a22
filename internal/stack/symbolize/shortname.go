package symbolize

import (
	"slices"
	"strings"
)

// maxTemplateDepth bounds the nesting of template arguments in a shortened name; deeper parts are
// unchanged.
const maxTemplateDepth = 64

// stringTypes maps instances of std::basic_string to their C++ names.
var stringTypes = map[string]string{
	"char": "std::string", "wchar_t": "std::wstring", "char8_t": "std::u8string",
	"char16_t": "std::u16string", "char32_t": "std::u32string",
}

// defaulted maps templates of the C++ library with usual defaults for their last arguments to the number of
// arguments before those.
var defaulted = map[string]int{
	"std::vector": 1, "std::list": 1, "std::deque": 1, "std::forward_list": 1, "std::set": 1, "std::multiset": 1,
	"std::unordered_set": 1, "std::unordered_multiset": 1, "std::map": 2, "std::multimap": 2,
	"std::unordered_map": 2, "std::unordered_multimap": 2, "std::unique_ptr": 1, "std::basic_string": 1,
	"std::basic_string_view": 1, "std::basic_ostream": 1, "std::basic_istream": 1, "std::stack": 1, "std::queue": 1,
}

// shortName returns a demangled C++ name as its author would write it: with std::string instead of
// its definition, and without template arguments that are the defaults of the C++ library's
// containers. Both names mean the same.
func shortName(name string) string {
	if !strings.Contains(name, "std::") || !strings.Contains(name, "<") {
		return name
	}
	p := shortener{in: name}
	out, ok := p.copyUntil("", 0)
	if !ok || p.in != "" {
		return name
	}
	return out
}

// A shortener rewrites a name from left to right.
type shortener struct{ in string }

// copyUntil copies the text before the first of some letters outside of brackets. It reports whether
// brackets match.
func (p *shortener) copyUntil(ends string, depth int) (string, bool) {
	if depth > maxTemplateDepth {
		return "", false
	}
	var b strings.Builder
	for p.in != "" {
		c := p.in[0]
		if strings.IndexByte(ends, c) >= 0 {
			return b.String(), true
		}
		switch {
		case strings.HasPrefix(p.in, "operator"):
			p.copyOperator(&b)
		case c == '<' && b.Len() > 0:
			if !p.writeArguments(&b, depth) {
				return "", false
			}
		case strings.HasPrefix(p.in, "->"):
			p.copyBytes(&b, len("->"))
		case c == '(' || c == '[' || c == '{':
			if !p.copyBrackets(&b, depth) {
				return "", false
			}
		case c == '>' || c == ')' || c == ']' || c == '}':
			return "", false
		default:
			p.copyBytes(&b, 1)
		}
	}
	return b.String(), ends == ""
}

// copyBytes copies n bytes unchanged.
func (p *shortener) copyBytes(b *strings.Builder, n int) {
	b.WriteString(p.in[:n])
	p.in = p.in[n:]
}

// copyOperator copies the word operator with its symbol.
func (p *shortener) copyOperator(b *strings.Builder) {
	p.copyBytes(b, len("operator"))
	for _, sign := range []string{"()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"} {
		if strings.HasPrefix(p.in, sign) {
			p.copyBytes(b, len(sign))
			return
		}
	}
}

// copyBrackets copies a pair of brackets with their content.
func (p *shortener) copyBrackets(b *strings.Builder, depth int) bool {
	end := map[byte]string{'(': ")", '[': "]", '{': "}"}[p.in[0]]
	p.copyBytes(b, 1)
	inside, ok := p.copyUntil(end, depth+1)
	if !ok {
		return false
	}
	b.WriteString(inside)
	p.copyBytes(b, 1)
	return true
}

// writeArguments writes template arguments after the name in b.
func (p *shortener) writeArguments(b *strings.Builder, depth int) bool {
	var args []string
	for p.in[0] != '>' {
		p.in = strings.TrimPrefix(p.in[1:], " ")
		arg, ok := p.copyUntil(",>", depth+1)
		if !ok {
			return false
		}
		args = append(args, strings.TrimSuffix(arg, " "))
	}
	p.in = p.in[1:]
	whole := b.String()
	name := whole[1+strings.LastIndexFunc(whole, func(r rune) bool { return strings.ContainsRune(" (<,*&[{", r) }):]
	standard := strings.NewReplacer("::__cxx11::", "::", "::__1::", "::").Replace(name)
	args = withoutDefaults(standard, args)
	b.Reset()
	b.WriteString(strings.TrimSuffix(whole, name))
	if s, ok := stringTypes[args[0]]; ok && standard == "std::basic_string" && len(args) == 1 {
		b.WriteString(s)
		return true
	}
	b.WriteString(name + "<" + strings.Join(args, ", "))
	if strings.HasSuffix(args[len(args)-1], ">") {
		b.WriteByte(' ')
	}
	b.WriteByte('>')
	return true
}

// withoutDefaults removes default arguments of one of the library's templates.
func withoutDefaults(template string, args []string) []string {
	least := defaulted[template]
	for least > 0 && len(args) > least && isDefault(args[len(args)-1], args) {
		args = args[:len(args)-1]
	}
	return args
}

// isDefault reports whether a template argument is the default for the preceding ones.
func isDefault(arg string, args []string) bool {
	first := args[0]
	pair := first
	if len(args) > 1 {
		pair = args[1]
	}
	arg = strings.ReplaceAll(arg, "::__1::", "::")
	closed := func(s string) string { // as in names
		if strings.HasSuffix(s, ">") {
			return s + " >"
		}
		return s + ">"
	}
	var defaults []string
	for _, t := range []string{"allocator", "less", "hash", "equal_to", "char_traits", "default_delete", "deque"} {
		defaults = append(defaults, "std::"+t+"<"+closed(first))
	}
	of := "std::pair<" + first + " const, " + closed(pair)
	return slices.Contains(append(defaults, "std::allocator<"+closed(of)), arg)
}
