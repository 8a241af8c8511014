//! What x86-64 instructions compute on data, by mnemonic (SDM volume 2).
//!
//! In: an instruction. Out: [`Arithmetic`]. The width of a packed one is that of its widest register operand.
// tidy: table

use crate::insn::arithmetic::{Arithmetic, FalseDependency, Work};
use iced_x86::{Decoder, Instruction, Mnemonic, OpKind, Register};

use super::decoder::{BITNESS, OPTIONS};

/// What the first instruction of `code` computes on data.
pub fn arithmetic(code: &[u8]) -> Option<Arithmetic> {
    let mut insn = Instruction::default();
    Decoder::with_ip(BITNESS, code, 0, OPTIONS).decode_out(&mut insn);
    let Named { work, is_float, is_packed } = named(insn.mnemonic())?;
    // `pxor xmm0, xmm0` and the like make a constant.
    let is_idiom = work == Work::Logic || work == Work::Compare;
    let (first, last) = (insn.op0_register(), insn.try_op_register(insn.op_count().saturating_sub(1)).ok());
    let before_last = insn.try_op_register(insn.op_count().saturating_sub(2)).ok();
    if is_packed && is_idiom && first != Register::None && last == before_last && last != Some(Register::None)
    {
        return None;
    }
    let bits = if is_packed { widest(&insn) } else { 0 };
    // `addsd`, `mulpd`, `vfmadd213sd`.
    let is_double = is_float && format!("{:?}", insn.mnemonic()).ends_with('d');
    Some(Arithmetic { work, is_float, is_double, bits })
}

/// On what the first instruction of `code` may wait without need: the old value of its destination, where that is not a source. VEX's
/// forms wait where their first source, whose lanes they keep, is the destination.
#[rustfmt::skip]
pub fn false_dependency(code: &[u8]) -> Option<FalseDependency> {
    use Mnemonic as M;
    let mut insn = Instruction::default();
    Decoder::with_ip(BITNESS, code, 0, OPTIONS).decode_out(&mut insn);
    let (found, source) = match insn.mnemonic() {
        M::Popcnt => (FalseDependency::CountBits, 1),
        M::Lzcnt => (FalseDependency::LeadingZeros, 1),
        M::Tzcnt => (FalseDependency::TrailingZeros, 1),
        M::Blsi | M::Blsmsk | M::Blsr => (FalseDependency::LowestBit, 1),
        M::Cvtsi2ss | M::Cvtsi2sd | M::Cvtss2sd | M::Cvtsd2ss | M::Sqrtss | M::Sqrtsd | M::Rsqrtss | M::Rcpss
        | M::Roundss | M::Roundsd => (FalseDependency::PartialUpdate, 1),
        M::Vcvtsi2ss | M::Vcvtsi2sd | M::Vcvtss2sd | M::Vcvtsd2ss | M::Vsqrtss | M::Vsqrtsd | M::Vrsqrtss
        | M::Vrcpss | M::Vroundss | M::Vroundsd
            if insn.op0_register() == insn.op1_register() => (FalseDependency::PartialUpdate, 2),
        _ => return None,
    };
    let whole = insn.op0_register().full_register();
    let addresses = [insn.memory_base(), insn.memory_index()];
    let mut read = addresses.into_iter().chain(insn.try_op_register(source).ok());
    let is_used = read.any(|register| register.full_register() == whole);
    // 16 bits leave the others as they are.
    let is_part = insn.op0_register().is_gpr16();
    (!is_used && !is_part).then_some(found)
}

fn widest(insn: &Instruction) -> u16 {
    let registers = (0..insn.op_count())
        .filter(|&n| matches!(insn.try_op_kind(n), Ok(OpKind::Register)))
        .filter_map(|n| insn.try_op_register(n).ok());
    let width = |register: Register| match register {
        _ if register.is_zmm() => 512,
        _ if register.is_ymm() => 256,
        _ if register.is_xmm() => 128,
        _ if register.is_mm() => 64,
        _ => 0,
    };
    registers.map(width).max().unwrap_or(0)
}

/// What a mnemonic alone shows.
pub(super) struct Named {
    pub(super) work: Work,
    pub(super) is_float: bool,
    pub(super) is_packed: bool,
}

/// Scalar instructions on general registers are only named where they hardly ever make addresses: multiplication.
#[rustfmt::skip]
pub(super) fn named(mnemonic: Mnemonic) -> Option<Named> {
    use Mnemonic as M;
    const INT: (bool, bool) = (false, true);
    const FLOATS: (bool, bool) = (true, true);
    const FLOAT: (bool, bool) = (true, false);
    let (work, (is_float, is_packed)) = match mnemonic {
        M::Imul => (Work::Multiply, (false, false)),
        M::Addss | M::Addsd | M::Subss | M::Subsd | M::Vaddss | M::Vaddsd | M::Vsubss | M::Vsubsd => {
            (Work::Add, FLOAT)
        }
        M::Mulss | M::Mulsd | M::Vmulss | M::Vmulsd => (Work::Multiply, FLOAT),
        M::Divss | M::Divsd | M::Vdivss | M::Vdivsd | M::Rcpss | M::Vrcpss => (Work::Divide, FLOAT),
        M::Sqrtss | M::Sqrtsd | M::Vsqrtss | M::Vsqrtsd | M::Rsqrtss | M::Vrsqrtss => (Work::Root, FLOAT),
        M::Minss | M::Minsd | M::Maxss | M::Maxsd | M::Vminss | M::Vminsd | M::Vmaxss | M::Vmaxsd => {
            (Work::MinMax, FLOAT)
        }
        M::Vfmadd132ss | M::Vfmadd213ss | M::Vfmadd231ss | M::Vfmadd132sd | M::Vfmadd213sd | M::Vfmadd231sd
        | M::Vfmsub132ss | M::Vfmsub213ss | M::Vfmsub231ss | M::Vfmsub132sd | M::Vfmsub213sd | M::Vfmsub231sd
        | M::Vfnmadd132ss | M::Vfnmadd213ss | M::Vfnmadd231ss | M::Vfnmadd132sd | M::Vfnmadd213sd
        | M::Vfnmadd231sd | M::Vfnmsub132ss | M::Vfnmsub213ss | M::Vfnmsub231ss | M::Vfnmsub132sd
        | M::Vfnmsub213sd | M::Vfnmsub231sd => (Work::MultiplyAdd, FLOAT),
        M::Cvtsi2ss | M::Cvtsi2sd | M::Vcvtsi2ss | M::Vcvtsi2sd | M::Cvtss2sd | M::Cvtsd2ss | M::Vcvtss2sd
        | M::Vcvtsd2ss | M::Cvttss2si | M::Cvttsd2si | M::Vcvttss2si | M::Vcvttsd2si => (Work::Convert, FLOAT),

        M::Addps | M::Addpd | M::Subps | M::Subpd | M::Vaddps | M::Vaddpd | M::Vsubps | M::Vsubpd | M::Addsubps
        | M::Addsubpd | M::Haddps | M::Haddpd | M::Vhaddps | M::Vhaddpd => (Work::Add, FLOATS),
        M::Mulps | M::Mulpd | M::Vmulps | M::Vmulpd => (Work::Multiply, FLOATS),
        M::Divps | M::Divpd | M::Vdivps | M::Vdivpd | M::Rcpps | M::Vrcpps => (Work::Divide, FLOATS),
        M::Sqrtps | M::Sqrtpd | M::Vsqrtps | M::Vsqrtpd | M::Rsqrtps | M::Vrsqrtps => (Work::Root, FLOATS),
        M::Minps | M::Minpd | M::Maxps | M::Maxpd | M::Vminps | M::Vminpd | M::Vmaxps | M::Vmaxpd => {
            (Work::MinMax, FLOATS)
        }
        M::Vfmadd132ps | M::Vfmadd213ps | M::Vfmadd231ps | M::Vfmadd132pd | M::Vfmadd213pd | M::Vfmadd231pd
        | M::Vfmsub132ps | M::Vfmsub213ps | M::Vfmsub231ps | M::Vfmsub132pd | M::Vfmsub213pd | M::Vfmsub231pd
        | M::Vfnmadd132ps | M::Vfnmadd213ps | M::Vfnmadd231ps | M::Vfnmadd132pd | M::Vfnmadd213pd
        | M::Vfnmadd231pd | M::Vfnmsub132ps | M::Vfnmsub213ps | M::Vfnmsub231ps | M::Vfnmsub132pd
        | M::Vfnmsub213pd | M::Vfnmsub231pd => (Work::MultiplyAdd, FLOATS),
        M::Cmpps | M::Cmppd | M::Vcmpps | M::Vcmppd => (Work::Compare, FLOATS),
        M::Cvtdq2ps | M::Cvtdq2pd | M::Cvtps2dq | M::Cvtpd2dq | M::Cvttps2dq | M::Cvttpd2dq | M::Cvtps2pd
        | M::Cvtpd2ps | M::Vcvtdq2ps | M::Vcvtdq2pd | M::Vcvtps2dq | M::Vcvtpd2dq | M::Vcvttps2dq
        | M::Vcvttpd2dq | M::Vcvtps2pd | M::Vcvtpd2ps => (Work::Convert, FLOATS),
        M::Andps | M::Andpd | M::Andnps | M::Andnpd | M::Orps | M::Orpd | M::Xorps | M::Xorpd | M::Vandps
        | M::Vandpd | M::Vandnps | M::Vandnpd | M::Vorps | M::Vorpd | M::Vxorps | M::Vxorpd => {
            (Work::Logic, FLOATS)
        }

        M::Paddb | M::Paddw | M::Paddd | M::Paddq | M::Paddsb | M::Paddsw | M::Paddusb | M::Paddusw | M::Psubb
        | M::Psubw | M::Psubd | M::Psubq | M::Psubsb | M::Psubsw | M::Psubusb | M::Psubusw | M::Pavgb
        | M::Pavgw | M::Psadbw | M::Phaddd | M::Phaddw | M::Vpaddb | M::Vpaddw | M::Vpaddd | M::Vpaddq
        | M::Vpaddsb | M::Vpaddsw | M::Vpaddusb | M::Vpaddusw | M::Vpsubb | M::Vpsubw | M::Vpsubd | M::Vpsubq
        | M::Vpsubsb | M::Vpsubsw | M::Vpsubusb | M::Vpsubusw | M::Vpavgb | M::Vpavgw | M::Vpsadbw
        | M::Vphaddd | M::Vphaddw => (Work::Add, INT),
        M::Pmullw | M::Pmulld | M::Pmulhw | M::Pmulhuw | M::Pmulhrsw | M::Pmuludq | M::Pmuldq | M::Vpmullw
        | M::Vpmulld | M::Vpmullq | M::Vpmulhw | M::Vpmulhuw | M::Vpmulhrsw | M::Vpmuludq | M::Vpmuldq => {
            (Work::Multiply, INT)
        }
        M::Pmaddwd | M::Pmaddubsw | M::Vpmaddwd | M::Vpmaddubsw | M::Vpdpbusd | M::Vpdpwssd => {
            (Work::MultiplyAdd, INT)
        }
        M::Pand | M::Pandn | M::Por | M::Pxor | M::Vpand | M::Vpandn | M::Vpor | M::Vpxor | M::Vpandd
        | M::Vpandq | M::Vpandnd | M::Vpandnq | M::Vpord | M::Vporq | M::Vpxord | M::Vpxorq | M::Vpternlogd
        | M::Vpternlogq => (Work::Logic, INT),
        M::Psllw | M::Pslld | M::Psllq | M::Psrlw | M::Psrld | M::Psrlq | M::Psraw | M::Psrad | M::Vpsllw
        | M::Vpslld | M::Vpsllq | M::Vpsrlw | M::Vpsrld | M::Vpsrlq | M::Vpsraw | M::Vpsrad | M::Vpsraq
        | M::Vpsllvd | M::Vpsllvq | M::Vpsrlvd | M::Vpsrlvq | M::Vpsravd | M::Vprold | M::Vprolq | M::Vprord
        | M::Vprorq => (Work::Shift, INT),
        M::Pminub | M::Pminuw | M::Pminud | M::Pminsb | M::Pminsw | M::Pminsd | M::Pmaxub | M::Pmaxuw
        | M::Pmaxud | M::Pmaxsb | M::Pmaxsw | M::Pmaxsd | M::Pabsb | M::Pabsw | M::Pabsd | M::Vpminub
        | M::Vpminuw | M::Vpminud | M::Vpminsb | M::Vpminsw | M::Vpminsd | M::Vpmaxub | M::Vpmaxuw
        | M::Vpmaxud | M::Vpmaxsb | M::Vpmaxsw | M::Vpmaxsd | M::Vpabsb | M::Vpabsw | M::Vpabsd => {
            (Work::MinMax, INT)
        }
        M::Pcmpeqb | M::Pcmpeqw | M::Pcmpeqd | M::Pcmpeqq | M::Pcmpgtb | M::Pcmpgtw | M::Pcmpgtd | M::Pcmpgtq
        | M::Vpcmpeqb | M::Vpcmpeqw | M::Vpcmpeqd | M::Vpcmpeqq | M::Vpcmpgtb | M::Vpcmpgtw | M::Vpcmpgtd
        | M::Vpcmpgtq => (Work::Compare, INT),
        _ => return None,
    };
    Some(Named { work, is_float, is_packed })
}
