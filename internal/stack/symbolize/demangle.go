package symbolize

import (
	"regexp"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// maxMangled bounds the names that are demangled, in bytes; longer ones are shown unchanged.
// Symbols of expression templates have some ten thousand bytes.
const maxMangled = 1 << 14

// maxDemangledPow bounds the demangled name to 2 to that power bytes.
const maxDemangledPow = 16

// Demangle returns the display name of a symbol: C++ and Rust names demangled, without default
// template arguments of the C++ library, and procedures of Fortran modules as module::procedure. A C++ name with types
// that the demangler may confuse is without them. It returns any other name unchanged.
func Demangle(name string) string {
	if len(name) > maxMangled {
		return name
	}
	if s, ok := fortranName(name); ok {
		return s
	}
	if !strings.HasPrefix(name, "_Z") && !strings.HasPrefix(name, "_R") && !strings.HasPrefix(name, "__Z") {
		return name
	}
	options := []demangle.Option{demangle.MaxLength(maxDemangledPow)}
	if miscountsTypes(name) {
		options = append(options, demangle.NoParams, demangle.NoTemplateParams)
	}
	return shortName(demangle.Filter(name, options...))
}

// declaredParam matches a symbol in which a template argument may be preceded by the declaration of its parameter
// (Tn), and a later part refers to an earlier one by its number.
var declaredParam = regexp.MustCompile(`T[yntpk].*S[0-9A-Z]*_`)

// miscountsTypes reports whether the demangled form of a symbol may have wrong types: LLVM's compilers since 18 declare
// constrained parameters of templates in symbols, and the demangler numbers the types after them in another way.
func miscountsTypes(name string) (declared bool) {
	if !declaredParam.MatchString(name) {
		return false
	}
	a, err := demangle.ToAST(name, demangle.MaxLength(maxDemangledPow))
	if err != nil {
		return false
	}
	a.Traverse(func(a demangle.AST) bool {
		_, is := a.(*demangle.TemplateParamQualifiedArg)
		declared = declared || is
		return !declared
	})
	return declared
}

// TypeName returns the display name of a type from the name in its C++ type_info.
func TypeName(mangled string) string {
	const of = "typeinfo for "
	name, ok := strings.CutPrefix(Demangle("_ZTI"+mangled), of)
	if !ok {
		return mangled
	}
	return strings.Replace(name, "std::__cxx11::", "std::", 1)
}

// fortranName decodes the names of gfortran (__mod_MOD_proc, MAIN__) and of flang (_QMmodPproc,
// _QMmodSsubFhostPproc, _QFhostPproc, _QPproc, _QMmodEvariable).
func fortranName(name string) (string, bool) {
	if rest, ok := strings.CutPrefix(name, "__"); ok {
		if mod, proc, ok := strings.Cut(rest, "_MOD_"); ok && mod != "" && proc != "" {
			return mod + "::" + proc, true
		}
		return "", false
	}
	if name == fortranMain || name == "_QQmain" {
		return "main program", true
	}
	rest, ok := strings.CutPrefix(name, "_Q")
	if !ok {
		return "", false
	}
	return flangName(rest)
}

// flangName decodes the scopes of flang: each is an upper-case letter (M module, S submodule, F host procedure,
// P procedure, E variable) and a name in lower case.
func flangName(s string) (string, bool) {
	suffix := ""
	if i := strings.IndexByte(s, '.'); i >= 0 {
		s, suffix = s[:i], s[i:]
	}
	var parts []string
	for s != "" {
		if strings.IndexByte("MSFPE", s[0]) < 0 {
			return "", false
		}
		end := 1
		for end < len(s) && (s[end] < 'A' || s[end] > 'Z') {
			end++
		}
		if end == 1 && s[0] != 'F' { // "F" alone is the main program
			return "", false
		}
		if end > 1 {
			parts = append(parts, s[1:end])
		}
		s = s[end:]
	}
	return strings.Join(parts, "::") + suffix, len(parts) > 0
}
