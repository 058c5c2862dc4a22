package emulate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

const floats = "testdata/floats.c"

// TestFloats compares the results of functions on floating-point numbers on the processor with those of a Caller, for
// both architectures. Those that depend on denormal numbers or on rounding are unknown.
func TestFloats(t *testing.T) {
	omptest.Needs(t, "compilers")
	want := output(t, compile(t, "gcc -O1", floats))
	all := append(slices.Clone(builds), "gcc -O3 -march=haswell", "gcc -O0 -mavx", avx512)
	for _, build := range crossBuilds {
		all = append(all, crossCompiler+build)
	}
	for _, build := range all {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			lines, known := compareKnown(t, compile(t, build, floats), want)
			least := map[string]float64{"narrow": 0.4} // of the results that are known
			for _, name := range []string{"sum", "difference", "product", "quotient", "nearer", "beyond", "largest"} {
				least[name] = 0.1
			}
			switch { // instructions that are not followed
			case strings.Contains(build, "aarch64"): // fcsel
				least["largest"] = 0
			case build == avx512:
				least["of_unsigned"] = 0
			case strings.Contains(build, "clang-16 -O3"): // bzhi, for the absolute value
				least["near_double"] = 0
			}
			for name, n := range lines {
				bound, ok := least[name]
				if !ok {
					bound = 0.65
				}
				if part := float64(known[name]) / float64(n); part < bound {
					t.Errorf("%s: %d of %d results are known", name, known[name], n)
				}
			}
		})
	}
}

// avx512 is a compiler command for code with instructions that are not followed.
const avx512 = "gcc -O2 -march=skylake-avx512"

// setConditions sets %rax to the conditions of all kinds.
const setConditions = `
	setp %al
	seta %cl; lea (%rcx,%rax,2),%rax
	setb %cl; lea (%rcx,%rax,2),%rax
	sete %cl; lea (%rcx,%rax,2),%rax
	setl %cl; lea (%rcx,%rax,2),%rax
	setg %cl; lea (%rcx,%rax,2),%rax
	setbe %cl; lea (%rcx,%rax,2),%rax
	setnp %cl; lea (%rcx,%rax,2),%rax
	seto %cl; lea (%rcx,%rax,2),%rax
	setns %cl; lea (%rcx,%rax,2),%rax
	movq %rax,%xmm0`

// followedInstructions are instructions on vector registers that are followed. SRC is %xmm1, or memory with the same
// content.
var followedInstructions = []string{
	"movss SRC,%xmm0", "movsd SRC,%xmm0", "movq SRC,%xmm0", "movaps SRC,%xmm0", "movapd SRC,%xmm0", "movups SRC,%xmm0",
	"movupd SRC,%xmm0", "movdqa SRC,%xmm0", "movdqu SRC,%xmm0", "movddup SRC,%xmm0", "xorps SRC,%xmm0",
	"xorpd SRC,%xmm0", "pxor SRC,%xmm0", "andps SRC,%xmm0", "andpd SRC,%xmm0", "pand SRC,%xmm0", "orps SRC,%xmm0",
	"orpd SRC,%xmm0", "por SRC,%xmm0", "andnps SRC,%xmm0", "andnpd SRC,%xmm0", "pandn SRC,%xmm0", "pxor %xmm0,%xmm0",
	"vmovq SRC,%xmm0", "vmovaps SRC,%xmm0", "vmovapd SRC,%xmm0", "vmovups SRC,%xmm0", "vmovupd SRC,%xmm0",
	"vmovdqa SRC,%xmm0", "vmovdqu SRC,%xmm0", "vmovddup SRC,%xmm0", "vxorps SRC,%xmm2,%xmm0", "vxorpd SRC,%xmm2,%xmm0",
	"vpxor SRC,%xmm2,%xmm0", "vandps SRC,%xmm2,%xmm0", "vandpd SRC,%xmm2,%xmm0", "vpand SRC,%xmm2,%xmm0",
	"vorps SRC,%xmm2,%xmm0", "vorpd SRC,%xmm2,%xmm0", "vpor SRC,%xmm2,%xmm0", "vandnps SRC,%xmm2,%xmm0",
	"vandnpd SRC,%xmm2,%xmm0", "vpandn SRC,%xmm2,%xmm0", "vxorps %xmm0,%xmm0,%xmm0", "vpxor %ymm2,%ymm2,%ymm0",
	"vmovss %xmm1,%xmm2,%xmm0", "vmovsd %xmm1,%xmm2,%xmm0", "vmovss (%rsp),%xmm0", "vmovsd (%rsp),%xmm0",
	"vmovsd number(%rip),%xmm0", "vmovsd -8(%rsp,%rax,8),%xmm0", "vmovupd (%rsp),%ymm0", "vmovapd %ymm1,%ymm0",
	"movss %xmm0,(%rsp); movq (%rsp),%xmm0", "movsd %xmm0,(%rsp); movq (%rsp),%xmm0",
	"movaps %xmm0,(%rsp); movsd (%rsp),%xmm0", "vmovss %xmm2,(%rsp); movq (%rsp),%xmm0",
	"vmovsd %xmm2,(%rsp); movq (%rsp),%xmm0", "vmovapd %xmm2,(%rsp); vmovsd (%rsp),%xmm0",
	"movq %xmm1,%rax; movq %rax,%xmm0", "movd %xmm1,%eax; movd %eax,%xmm0", "movd %xmm1,(%rsp); movd (%rsp),%xmm0",
	"vmovq %xmm1,%rax; vmovq %rax,%xmm0", "vmovd %xmm1,%eax; vmovd %eax,%xmm0", "vmovd (%rsp),%xmm0",
	"vmovq %xmm1,(%rsp); vmovsd (%rsp),%xmm0", "movq %xmm0,%xmm8; pxor %xmm0,%xmm0; movapd %xmm8,%xmm0",
	"vmovapd %xmm1,%xmm15; vxorpd %xmm0,%xmm0,%xmm0; vmovsd %xmm15,%xmm0,%xmm0",
	"cvtsi2sdl %esi,%xmm0", "cvtsi2sdl (%rsp),%xmm0", "cvtsi2ssl %edi,%xmm0", "vcvtsi2sdl %esi,%xmm2,%xmm0",
	"cmpeqsd SRC,%xmm0", "cmpltsd SRC,%xmm0", "cmplesd SRC,%xmm0", "cmpunordsd SRC,%xmm0", "cmpneqss SRC,%xmm0",
	"cmpnltss SRC,%xmm0", "cmpnless SRC,%xmm0", "cmpordss SRC,%xmm0", "vcmpeq_uqsd SRC,%xmm2,%xmm0",
	"vcmpngesd SRC,%xmm2,%xmm0", "vcmpngtsd SRC,%xmm2,%xmm0", "vcmpfalsess SRC,%xmm2,%xmm0",
	"vcmpneq_oqss SRC,%xmm2,%xmm0", "vcmpgess SRC,%xmm2,%xmm0", "vcmpgtsd SRC,%xmm2,%xmm0",
	"vcmptruesd SRC,%xmm2,%xmm0",
	"vcmplt_oqsd SRC,%xmm2,%xmm0",
	"vcvtsi2sdl (%rsp),%xmm2,%xmm0", "ucomisd SRC,%xmm0 CC", "comisd SRC,%xmm0 CC", "ucomiss SRC,%xmm0 CC",
	"comiss SRC,%xmm0 CC", "vucomisd SRC,%xmm0 CC", "vcomisd SRC,%xmm0 CC", "vucomiss SRC,%xmm0 CC",
	"vcomiss SRC,%xmm0 CC", "ucomisd SRC,%xmm0; movsd 8(%rsp),%xmm3; pxor %xmm2,%xmm2 CC",
}

// exactInstructions are instructions whose results are followed if they need not be rounded.
var exactInstructions = []string{
	"addss SRC,%xmm0", "addsd SRC,%xmm0", "subss SRC,%xmm0", "subsd SRC,%xmm0", "mulss SRC,%xmm0", "mulsd SRC,%xmm0",
	"divss SRC,%xmm0", "divsd SRC,%xmm0", "minss SRC,%xmm0", "minsd SRC,%xmm0", "maxss SRC,%xmm0", "maxsd SRC,%xmm0",
	"vaddss SRC,%xmm2,%xmm0", "vaddsd SRC,%xmm2,%xmm0", "vsubss SRC,%xmm2,%xmm0", "vsubsd SRC,%xmm2,%xmm0",
	"vmulss SRC,%xmm2,%xmm0", "vmulsd SRC,%xmm2,%xmm0", "vdivss SRC,%xmm2,%xmm0", "vdivsd SRC,%xmm2,%xmm0",
	"vminss SRC,%xmm2,%xmm0", "vminsd SRC,%xmm2,%xmm0", "vmaxss SRC,%xmm2,%xmm0", "vmaxsd SRC,%xmm2,%xmm0",
}

// fusedInstructions returns the fused multiplications and additions, with different numbers in all arguments.
func fusedInstructions() (list []string) {
	for _, name := range []string{"vfmadd", "vfmsub", "vfnmadd", "vfnmsub"} {
		for _, order := range []string{"132", "213", "231"} {
			list = append(list, "movss three(%rip),%xmm2; "+name+order+"ss SRC,%xmm2,%xmm0",
				"movsd number(%rip),%xmm2; "+name+order+"sd SRC,%xmm2,%xmm0")
		}
	}
	return list
}

// otherInstructions are instructions whose results are not followed, or only some of them.
var otherInstructions = []string{
	"cvtsi2sdq %rsi,%xmm0", "cvtsi2sdq (%rsp),%xmm0", "cvtsi2ssq %rsi,%xmm0", "cvtss2sd SRC,%xmm0",
	"cvtsd2ss SRC,%xmm0",
	"vcvtsi2sdq (%rsp),%xmm2,%xmm0", "vcvtsi2ssq %rsi,%xmm2,%xmm0", "vcvtss2sd SRC,%xmm2,%xmm0",
	"vcvtsd2ss SRC,%xmm2,%xmm0", "cvttsd2si SRC,%rax; movq %rax,%xmm0", "cvttsd2si SRC,%eax; movq %rax,%xmm0",
	"cvttss2si SRC,%rax; movq %rax,%xmm0", "cvttss2si SRC,%eax; movq %rax,%xmm0",
	"vcvttsd2si SRC,%rax; movq %rax,%xmm0",
	"vcvttss2si SRC,%eax; movq %rax,%xmm0", "cvtsd2si SRC,%rax; movq %rax,%xmm0",
	"sqrtsd SRC,%xmm0", "roundsd $1,SRC,%xmm0", "unpcklpd SRC,%xmm0", "unpcklps SRC,%xmm0",
	"unpckhpd SRC,%xmm0", "shufpd $1,SRC,%xmm0", "pshufd $1,SRC,%xmm0", "movhlps %xmm1,%xmm0", "movlhps %xmm1,%xmm0",
	"movlpd (%rsp),%xmm0", "movhpd (%rsp),%xmm0", "movhpd %xmm0,(%rsp); movq (%rsp),%xmm0", "cvtps2pd SRC,%xmm0",
	"cvtdq2pd SRC,%xmm0", "pcmpeqd SRC,%xmm0", "psllq $1,%xmm0", "psrldq $4,%xmm0",
	"cmpeqpd SRC,%xmm0", "pinsrq $0,%rsi,%xmm0", "pinsrw $1,%esi,%xmm0", "insertps $4,%xmm1,%xmm0",
	"movmskpd %xmm0,%eax; movq %rax,%xmm0", "pmovmskb %xmm0,%eax; movq %rax,%xmm0",
	"pextrq $0,%xmm1,%rax; movq %rax,%xmm0",
	"extractps $1,%xmm1,%eax; movq %rax,%xmm0", "vbroadcastss SRC,%xmm0", "vpbroadcastq SRC,%xmm0",
	"vblendvpd %xmm0,SRC,%xmm2,%xmm0", "vextractf128 $0,%ymm1,(%rsp); movq (%rsp),%xmm0", "vzeroupper", "vzeroall",
	"pcmpistrm $0x40,SRC,%xmm1", "pcmpestri $0,SRC,%xmm1; movq %rcx,%xmm0", "vpsllq $1,SRC,%xmm0",
	"vmaskmovpd (%rsp),%xmm1,%xmm0", "vmaskmovpd %xmm0,%xmm1,(%rsp); movq (%rsp),%xmm0", "ptest SRC,%xmm0 CC",
	"vtestpd SRC,%xmm0 CC", "movnti %rdi,(%rsp); movq (%rsp),%xmm0", "movntps %xmm0,(%rsp); movq (%rsp),%xmm0",
	"movshdup SRC,%xmm0", "movsldup SRC,%xmm0", "lddqu (%rsp),%xmm0", "addsubpd SRC,%xmm0", "pabsd SRC,%xmm0",
	"vperm2f128 $1,%ymm1,%ymm2,%ymm0", "vpermq $1,%ymm1,%ymm0", "vinsertf128 $0,%xmm1,%ymm2,%ymm0",
	"mov $1,%eax; movd %eax,%mm0; movq2dq %mm0,%xmm0; emms",
	"fldl (%rsp); fstpl 8(%rsp); movq 8(%rsp),%xmm0", ".byte 0x3e; vmovsd (%rsp),%xmm0",
	"fldl (%rsp); fldl 8(%rsp); fcomip; fstp %st(0) CC", "xchg %rax,(%rsp); movq (%rsp),%xmm0",
}

// TestVectorInstructions compares the results of single instructions on the processor with those of a Caller.
func TestVectorInstructions(t *testing.T) {
	omptest.Needs(t, "compilers")
	var code, table strings.Builder
	followed, least := map[string]string{}, map[string]float64{}
	add := func(list []string, part float64) { // of the results that must be known
		for _, text := range list {
			for i, source := range []string{"%xmm1", "(%rsp)"} {
				if i > 0 && !strings.Contains(text, "SRC") {
					continue
				}
				name := fmt.Sprintf("f%d", strings.Count(code.String(), "ret"))
				all := strings.ReplaceAll(strings.ReplaceAll(text, "SRC", source), "CC", setConditions)
				followed[name], least[name] = all, part
				// Argument a is in %xmm0, b in %xmm1, in %xmm2, and in the low half of memory.
				fmt.Fprintf(&code, "%s: sub $40,%%rsp; mov %%rsi,(%%rsp); mov %%rdi,8(%%rsp); movq %%rdi,%%xmm0\n"+
					"movq %%rsi,%%xmm1; movq %%rdi,%%xmm2; mov $1,%%eax; mov $0,%%ecx; mov $2,%%edx\n%s\n"+
					"movq %%xmm0,%%rax; add $40,%%rsp; ret\n", name, all)
				fmt.Fprintf(&table, "text_%s: .string \"%s\"\n", name, name)
			}
		}
	}
	add(followedInstructions, 0.65)
	add(exactInstructions, 0.1)
	add(fusedInstructions(), 0.05)
	add(otherInstructions, 0)
	var list strings.Builder
	for i := range strings.Count(code.String(), "ret") {
		fmt.Fprintf(&list, ".quad text_f%d, f%d\n", i, i)
	}
	file := filepath.Join(t.TempDir(), "instructions.s")
	text := ".globl functions\n.text\n" + code.String() +
		".section .rodata\n.balign 8\nnumber: .quad 0x4010000000000000\nthree: .quad 0x40400000\n" + table.String() +
		".section .data.rel.ro,\"aw\"\n.balign 8\nfunctions:\n" + list.String() + ".quad 0, 0\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	exe := compile(t, "gcc -O1 -no-pie -DINSTRUCTIONS "+file, floats)
	lines, known := compareKnown(t, exe, output(t, exe))
	for name, text := range followed {
		if part := float64(known[name]) / float64(lines[name]); part < least[name] {
			t.Errorf("%s: %d of %d results are known", text, known[name], lines[name])
		}
	}
}
