//! Which architecture features an A64 instruction needs.
//!
//! In: the decoder's definition of an instruction and its word. Out: a [`Group`], an index into [`GROUPS`]. The decoder
//! carries the feature sets of binutils' opcode table. In some places these are coarser than the `FEAT_` names of the
//! Arm Architecture Reference Manual (DDI 0487, A2.3 and C2), and are distinguished here by mnemonic and by word.
//! Instructions in the hint space run everywhere and need nothing.

use crate::insn::FeatureGroup;
use deburr_cpu::{Feature, FeatureSet};
use disarm64_defn::InsnFeatureSet as Defined;
use disarm64_defn::defn::Insn as Definition;

macro_rules! groups {
    ($($group:ident = [$($feature:ident),*],)*) => {
        /// The sets of features that instructions need, as indices into [`GROUPS`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u16)]
        pub(super) enum Group { $($group,)* }

        impl Group {
            /// The group of that number; [`Group::Base`] where there is none.
            pub(super) fn numbered(number: u16) -> Group {
                const ALL: &[Group] = &[$(Group::$group,)*];
                ALL.get(usize::from(number)).copied().unwrap_or(Group::Base)
            }
        }

        /// The features of each group, in the order of [`Group`].
        pub(super) static GROUPS: &[FeatureSet] = &[$(FeatureSet::of(&[$(Feature::$feature),*]),)*];
    };
}

groups! {
    Base = [],
    Fp = [FEAT_FP],
    Asimd = [FEAT_ASIMD],
    Aes = [FEAT_AES],
    Pmull = [FEAT_PMULL],
    Sha1 = [FEAT_SHA1],
    Sha256 = [FEAT_SHA256],
    Sha512 = [FEAT_SHA512],
    Sha3 = [FEAT_SHA3],
    Sm3 = [FEAT_SM3],
    Sm4 = [FEAT_SM4],
    Crc32 = [FEAT_CRC32],
    Lse = [FEAT_LSE],
    Lse128 = [FEAT_LSE128],
    Lsfe = [FEAT_LSFE],
    Lsui = [FEAT_LSUI],
    Rdm = [FEAT_RDM],
    Lor = [FEAT_LOR],
    Pan = [FEAT_PAN],
    Vhe = [FEAT_VHE],
    Uao = [FEAT_UAO],
    Dpb = [FEAT_DPB],
    Dpb2 = [FEAT_DPB2],
    Fp16 = [FEAT_FP16],
    Fhm = [FEAT_FHM],
    DotProd = [FEAT_DotProd],
    Fcma = [FEAT_FCMA],
    FcmaFp16 = [FEAT_FCMA, FEAT_FP16],
    Jscvt = [FEAT_JSCVT],
    Lrcpc = [FEAT_LRCPC],
    Lrcpc2 = [FEAT_LRCPC2],
    Lrcpc3 = [FEAT_LRCPC3],
    PAuth = [FEAT_PAuth],
    Dit = [FEAT_DIT],
    FlagM = [FEAT_FlagM],
    FlagM2 = [FEAT_FlagM2],
    Frintts = [FEAT_FRINTTS],
    Sb = [FEAT_SB],
    Specres = [FEAT_SPECRES],
    Specres2 = [FEAT_SPECRES2],
    Ssbs = [FEAT_SSBS],
    Rng = [FEAT_RNG],
    Mte = [FEAT_MTE],
    Bf16 = [FEAT_BF16],
    I8mm = [FEAT_I8MM],
    Ecv = [FEAT_ECV],
    Wfxt = [FEAT_WFxT],
    Xs = [FEAT_XS],
    Mops = [FEAT_MOPS],
    MopsMte = [FEAT_MOPS, FEAT_MTE],
    Hbc = [FEAT_HBC],
    Ls64 = [FEAT_LS64],
    Ls64V = [FEAT_LS64_V],
    Ls64Accdata = [FEAT_LS64_ACCDATA],
    Cssc = [FEAT_CSSC],
    D128 = [FEAT_D128],
    D128The = [FEAT_D128, FEAT_THE],
    The = [FEAT_THE],
    Gcs = [FEAT_GCS],
    Cpa = [FEAT_CPA],
    CpaSve = [FEAT_SVE, FEAT_CPA],
    Cmpbr = [FEAT_CMPBR],
    Faminmax = [FEAT_FAMINMAX],
    FaminmaxSme2 = [FEAT_SME2, FEAT_FAMINMAX],
    FaminmaxSve2 = [FEAT_SVE2, FEAT_FAMINMAX],
    Fp8 = [FEAT_FP8],
    Fp8Sme2 = [FEAT_SME2, FEAT_FP8],
    Fp8Sve2 = [FEAT_SVE2, FEAT_FP8],
    Fp8Dot2 = [FEAT_FP8DOT2],
    Fp8Dot2Sve2 = [FEAT_SVE2, FEAT_FP8DOT2],
    Fp8Dot4 = [FEAT_FP8DOT4],
    Fp8Dot4Sve2 = [FEAT_SVE2, FEAT_FP8DOT4],
    Fp8Fma = [FEAT_FP8FMA],
    Fp8FmaSve2 = [FEAT_SVE2, FEAT_FP8FMA],
    F8f16mm = [FEAT_F8F16MM],
    F8f16mmSve2 = [FEAT_SVE2, FEAT_F8F16MM],
    F8f32mm = [FEAT_F8F32MM],
    F8f32mmSve2 = [FEAT_SVE2, FEAT_F8F32MM],
    F16f32dot = [FEAT_F16F32DOT],
    F16f32mm = [FEAT_F16F32MM],
    F16mm = [FEAT_F16MM],
    Fprcvt = [FEAT_FPRCVT],
    Lut = [FEAT_LUT],
    LutSve2 = [FEAT_SVE2, FEAT_LUT],
    Ite = [FEAT_ITE],
    Tme = [FEAT_TME],
    Trf = [FEAT_TRF],
    Spe = [FEAT_SPE],
    Brbe = [FEAT_BRBE],
    Ras = [FEAT_RAS],
    Sve = [FEAT_SVE],
    Sve2 = [FEAT_SVE2],
    Sve2p1 = [FEAT_SVE2p1],
    Sve2p2 = [FEAT_SVE2p2],
    Sve2p3 = [FEAT_SVE2p3],
    SveAes = [FEAT_SVE_AES],
    SveAes2 = [FEAT_SVE_AES2],
    SvePmull128 = [FEAT_SVE_PMULL128],
    SveBitPerm = [FEAT_SVE_BitPerm],
    SveSha3 = [FEAT_SVE_SHA3],
    SveSm4 = [FEAT_SVE_SM4],
    SveB16b16 = [FEAT_SVE_B16B16],
    SveB16mm = [FEAT_SVE_B16MM],
    SveBfscale = [FEAT_SVE_BFSCALE],
    SveF16f32mm = [FEAT_SVE_F16F32MM],
    SveBf16 = [FEAT_SVE, FEAT_BF16],
    SveI8mm = [FEAT_SVE, FEAT_I8MM],
    F32mm = [FEAT_F32MM],
    F64mm = [FEAT_F64MM],
    Sme = [FEAT_SME],
    Sme2 = [FEAT_SME2],
    Sme2p1 = [FEAT_SME2p1],
    Sme2p2 = [FEAT_SME2p2],
    Sme2p3 = [FEAT_SME2p3],
    SmeB16b16 = [FEAT_SME_B16B16],
    Sme2B16b16 = [FEAT_SME2, FEAT_SVE_B16B16],
    Sme2Bfscale = [FEAT_SME2, FEAT_SVE_BFSCALE],
    SmeF16f16 = [FEAT_SME_F16F16],
    SmeF64f64 = [FEAT_SME_F64F64],
    Sme2F64f64 = [FEAT_SME2, FEAT_SME_F64F64],
    SmeF8f16 = [FEAT_SME_F8F16],
    SmeF8f32 = [FEAT_SME_F8F32],
    SmeI16i64 = [FEAT_SME_I16I64],
    Sme2I16i64 = [FEAT_SME2, FEAT_SME_I16I64],
    SmeLutv2 = [FEAT_SME_LUTv2],
    SmeMop4 = [FEAT_SME_MOP4],
    SmeMop4B16b16 = [FEAT_SME_MOP4, FEAT_SME_B16B16],
    SmeMop4F16f16 = [FEAT_SME_MOP4, FEAT_SME_F16F16],
    SmeMop4F64f64 = [FEAT_SME_MOP4, FEAT_SME_F64F64],
    SmeMop4F8f16 = [FEAT_SME_MOP4, FEAT_SME_F8F16],
    SmeMop4F8f32 = [FEAT_SME_MOP4, FEAT_SME_F8F32],
    SmeMop4I16i64 = [FEAT_SME_MOP4, FEAT_SME_I16I64],
    SmeTmop = [FEAT_SME_TMOP],
    SmeTmopB16b16 = [FEAT_SME_TMOP, FEAT_SME_B16B16],
    SmeTmopF16f16 = [FEAT_SME_TMOP, FEAT_SME_F16F16],
    SmeTmopF8f16 = [FEAT_SME_TMOP, FEAT_SME_F8F16],
    SmeTmopF8f32 = [FEAT_SME_TMOP, FEAT_SME_F8F32],
    SsveFexpa = [FEAT_SSVE_FEXPA],
    Other = [OTHER_AARCH64],
}

/// The group of everything that the decoder files under one feature set, before [`of_definition`] and [`of_word`]
/// distinguish coarse ones. Where either of two features will do (an SVE2.1 instruction that streaming mode of SME2
/// has as well) it is the one that needs no streaming mode.
// tidy: table
fn of_set(set: Defined) -> Group {
    use Defined as D;
    use Group as G;
    match set {
        D::V8 | D::CHK => G::Base,
        D::FP => G::Fp,
        D::SIMD => G::Asimd,
        D::AES => G::Aes,
        D::BFLOAT16 => G::Bf16,
        D::BFLOAT16_SVE => G::SveBf16,
        D::BRBE => G::Brbe,
        D::CMPBR => G::Cmpbr,
        D::COMPNUM => G::Fcma,
        D::CPA => G::Cpa,
        D::CPA_SVE => G::CpaSve,
        D::CRC => G::Crc32,
        D::CSSC => G::Cssc,
        D::D128 | D::D128_TLBID => G::D128,
        D::D128_THE => G::D128The,
        D::DOTPROD => G::DotProd,
        D::F16F32DOT => G::F16f32dot,
        D::F16F32MM => G::F16f32mm,
        D::F16MM => G::F16mm,
        D::F32MM_SVE => G::F32mm,
        D::F64MM_SVE => G::F64mm,
        D::F8F16MM => G::F8f16mm,
        D::F8F16MM_SVE2 => G::F8f16mmSve2,
        D::F8F32MM => G::F8f32mm,
        D::F8F32MM_SVE2 => G::F8f32mmSve2,
        D::FAMINMAX => G::Faminmax,
        D::FAMINMAX_SME2 => G::FaminmaxSme2,
        D::FAMINMAX_SVE2 => G::FaminmaxSve2,
        D::FLAGM => G::FlagM,
        D::FLAGMANIP => G::FlagM2,
        D::FP8 => G::Fp8,
        D::FP8_SME2 => G::Fp8Sme2,
        D::FP8_SVE2 => G::Fp8Sve2,
        D::FP8DOT2 => G::Fp8Dot2,
        D::FP8DOT2_SVE => G::Fp8Dot2Sve2,
        D::FP8DOT4 => G::Fp8Dot4,
        D::FP8DOT4_SVE => G::Fp8Dot4Sve2,
        D::FP8FMA => G::Fp8Fma,
        D::FP8FMA_SVE => G::Fp8FmaSve2,
        D::FP_16_V8_2A => G::Fhm,
        D::FP_F16 | D::SIMD_F16 => G::Fp16,
        D::FPRCVT => G::Fprcvt,
        D::FRINTTS => G::Frintts,
        D::GCS => G::Gcs,
        D::HBC => G::Hbc,
        D::I8MM => G::I8mm,
        D::I8MM_SVE => G::SveI8mm,
        D::ITE => G::Ite,
        D::JSCVT => G::Jscvt,
        D::LOR => G::Lor,
        D::LS64 => G::Ls64,
        D::LSE => G::Lse,
        D::LSE128 => G::Lse128,
        D::LSFE => G::Lsfe,
        D::LSUI | D::LSUI_FP => G::Lsui,
        D::LUT => G::Lut,
        D::LUT_SVE2 => G::LutSve2,
        D::LUTV2_SME2 | D::LUTV2_SME2P1 => G::SmeLutv2,
        D::MEMTAG => G::Mte,
        D::MOPS => G::Mops,
        D::MOPS_MEMTAG => G::MopsMte,
        D::PAUTH => G::PAuth,
        D::PREDRES => G::Specres,
        D::PREDRES2 => G::Specres2,
        D::RCPC => G::Lrcpc,
        D::RCPC2 => G::Lrcpc2,
        D::RCPC3 => G::Lrcpc3,
        D::RDMA => G::Rdm,
        D::SB => G::Sb,
        D::SHA2 => G::Sha256,
        D::SHA3 => G::Sha3,
        D::SM4 => G::Sm4,
        D::SME => G::Sme,
        D::SME2 => G::Sme2,
        D::SME2P1 => G::Sme2p1,
        D::SME2P2 => G::Sme2p2,
        D::SME2P3 => G::Sme2p3,
        D::SME2_F64F64 => G::Sme2F64f64,
        D::SME2_I16I64 => G::Sme2I16i64,
        D::SME_B16B16 => G::SmeB16b16,
        D::SME_F16F16 | D::SME_F16F16_F8F16 => G::SmeF16f16,
        D::SME_F64F64 => G::SmeF64f64,
        D::SME_F8F16 => G::SmeF8f16,
        D::SME_F8F32 => G::SmeF8f32,
        D::SME_I16I64 => G::SmeI16i64,
        D::SME_MOP4 => G::SmeMop4,
        D::SME_MOP4_B16B16 => G::SmeMop4B16b16,
        D::SME_MOP4_F16F16 => G::SmeMop4F16f16,
        D::SME_MOP4_F64F64 => G::SmeMop4F64f64,
        D::SME_MOP4_F8F16 => G::SmeMop4F8f16,
        D::SME_MOP4_F8F32 => G::SmeMop4F8f32,
        D::SME_MOP4_I16I64 => G::SmeMop4I16i64,
        D::SME_TMOP => G::SmeTmop,
        D::SME_TMOP_B16B16 => G::SmeTmopB16b16,
        D::SME_TMOP_F16F16 => G::SmeTmopF16f16,
        D::SME_TMOP_F8F16 => G::SmeTmopF8f16,
        D::SME_TMOP_F8F32 => G::SmeTmopF8f32,
        D::SVE => G::Sve,
        D::SVE2 => G::Sve2,
        D::SVE2AES => G::SveAes,
        D::SVE2BITPERM => G::SveBitPerm,
        D::SVE2P1 | D::SVE2P1_SME | D::SVE2P1_SME2 | D::SVE2P1_SME2P1 => G::Sve2p1,
        D::SVE2P2_SME2P2 | D::SVE_SME2P2 => G::Sve2p2,
        D::SVE2P3 | D::SVE2P3_SME2P3 => G::Sve2p3,
        D::SVE2SHA3 => G::SveSha3,
        D::SVE2SM4 => G::SveSm4,
        D::SVE_AES2 => G::SveAes2,
        D::SVE_B16B16_SME2 => G::Sme2B16b16,
        D::SVE_B16B16_SVE2 => G::SveB16b16,
        D::SVE_B16MM => G::SveB16mm,
        D::SVE_BFSCALE => G::SveBfscale,
        D::SVE_BFSCALE_SME2 => G::Sme2Bfscale,
        D::SVE_F16F32MM => G::SveF16f32mm,
        D::SVE_SSVE_FEXPA => G::Sve,
        D::THE => G::The,
        D::TME => G::Tme,
        D::WFXT => G::Wfxt,
        D::XS => G::Xs,
        D::GCIE | D::LSCP | D::MOPS_GO | D::MPAMV2 | D::POE2 | D::TEV | D::V8R => G::Other,
    }
}

/// The group of all instructions of one definition, except those that [`of_word`] changes.
pub(super) fn of_definition(definition: &Definition) -> Group {
    let name = definition.mnemonic;
    match (definition.feature_set, of_set(definition.feature_set)) {
        // Binutils files all polynomial multiplications of the crypto extension under one name.
        (Defined::AES, _) if name.starts_with("pmull") => Group::Pmull,
        (Defined::SHA2, _) if name.starts_with("sha1") => Group::Sha1,
        (Defined::SHA3, _) if name.starts_with("sha512") => Group::Sha512,
        (Defined::SM4, _) if name.starts_with("sm3") => Group::Sm3,
        (Defined::SVE2AES, _) if name.starts_with("pmull") => Group::SvePmull128,
        (Defined::LS64, _) if name == "st64bv" => Group::Ls64V,
        (Defined::LS64, _) if name == "st64bv0" => Group::Ls64Accdata,
        (_, group) => group,
    }
}

/// Whether [`of_word`] may change the group of an instruction of this definition.
pub(super) fn depends_on_word(definition: &Definition) -> bool {
    use disarm64_defn::InsnClass as C;
    match definition.class {
        C::IC_SYSTEM => matches!(definition.mnemonic, "msr" | "mrs" | "sys" | "sysl"),
        C::LDST_POS | C::LDST_IMM9 | C::LDST_UNSCALED | C::LDST_REGOFF | C::LDSTPAIR_OFF => true,
        C::LDSTPAIR_INDEXED | C::LDSTNAPAIR_OFFS | C::LOADLIT => true,
        C::ASIMDSAME | C::ASIMDELEM => definition.feature_set == Defined::COMPNUM,
        C::ASIMDSHF | C::ASISDSHF => definition.feature_set == Defined::SIMD_F16,
        _ => false,
    }
}

/// The group of one instruction whose definition is of `group`.
pub(super) fn of_word(word: u32, group: Group) -> Group {
    match group {
        Group::Base if word & 0xffc0_0000 == 0xd500_0000 => of_system(word),
        // The loads and stores of SIMD&FP registers: bit 26 in the load/store encodings.
        Group::Base if word & 0x0e00_0000 == 0x0c00_0000 => Group::Fp,
        // Complex arithmetic on half precision: size 01.
        Group::Fcma if word & 0x00c0_0000 == 0x0040_0000 => Group::FcmaFp16,
        // Conversions from and to fixed point that the decoder files under half precision: immh 001x is, the rest is
        // of words and doublewords.
        Group::Fp16 if word & 0x0060_0000 != 0 => Group::Asimd,
        group => group,
    }
}

/// The system-register encoding of a word: op0, op1, CRn, CRm, op2 from the high bits to the low ones.
pub(super) const fn system_register(word: u32) -> u16 {
    (word >> 5) as u16
}

const fn register(op0: u16, op1: u16, crn: u16, crm: u16, op2: u16) -> u16 {
    op0 << 14 | op1 << 11 | crn << 7 | crm << 3 | op2
}

/// `msr`, `mrs`, `sys` and `sysl`: by register or operation (DDI 0487, D24 and C5). Only those are listed that
/// user code, kernels and libraries use; the rest counts as baseline.
fn of_system(word: u32) -> Group {
    let key = system_register(word);
    let (op0, op1, crn, crm, op2) = (key >> 14, key >> 11 & 7, key >> 7 & 15, key >> 3 & 15, key & 7);
    match (op0, op1, crn, crm, op2) {
        // MSR (immediate): the operand is CRm.
        (0, 0, 4, _, 3) => Group::Uao,
        (0, 0, 4, _, 4) => Group::Pan,
        (0, 3, 4, _, 1) => Group::Ssbs,
        (0, 3, 4, _, 2) => Group::Dit,
        (0, 3, 4, _, 3) => Group::Sme,
        (0, 3, 4, _, 4) => Group::Mte,
        // Address translation, caches, prediction restriction, TLB maintenance.
        (1, 0, 7, 9, 0 | 1) => Group::Pan,
        (1, 1, 7, 2, 4 | 5) => Group::Brbe,
        (1, 3, 7, 2, 7) => Group::Ite,
        (1, 3, 7, 3, 4 | 5 | 7) => Group::Specres,
        (1, 3, 7, 3, 6) => Group::Specres2,
        (1, 3, 7, 4, 3 | 4) => Group::Mte,
        (1, 3, 7, 7, _) => Group::Gcs,
        (1, 3, 7, 12, 1) => Group::Dpb,
        (1, 3, 7, 13, 1) => Group::Dpb2,
        (1, 3, 7, 10 | 12 | 13 | 14, 3 | 5) => Group::Mte,
        (1, 0, 7, 6, 3..=6) | (1, 0, 7, 10 | 14, 4 | 6) => Group::Mte,
        (1, 0 | 4 | 6, 9, _, _) => Group::Xs,
        // Registers.
        (2, 1, 8 | 9, _, _) => Group::Brbe,
        (3, 5, _, _, _) => Group::Vhe,
        (3, 0, 1, 0, 5 | 6) | (3, 0, 5, 6, 0 | 1) => Group::Mte,
        (3, 0, 1, 2, 0) => Group::Sve,
        (3, 0, 1, 2, 1) => Group::Trf,
        (3, 0, 1, 2, 4 | 6) => Group::Sme,
        (3, 0, 2, 1 | 2, 0..=3) | (3, 0, 2, 3, 0 | 1) => Group::PAuth,
        (3, 0 | 3, 2, 5, _) => Group::Gcs,
        (3, 0, 4, 2, 3) => Group::Pan,
        (3, 0, 4, 2, 4) => Group::Uao,
        (3, 0, 5, 3..=5, _) | (3, 0, 12, 1, 1) => Group::Ras,
        (3, 0, 9, 9 | 10, _) => Group::Spe,
        (3, 0, 10, 4, 0..=3 | 7) => Group::Lor,
        (3, 0, 13, 0, 5) => Group::Ls64Accdata,
        (3, 3, 2, 4, 0 | 1) => Group::Rng,
        (3, 3, 4, 2, 2) | (3, 3, 13, 0, 5) => Group::Sme,
        (3, 3, 4, 2, 5) => Group::Dit,
        (3, 3, 4, 2, 6) => Group::Ssbs,
        (3, 3, 4, 2, 7) => Group::Mte,
        (3, 3, 4, 4, 2) => Group::Fp8,
        (3, 3, 14, 0, 5 | 6) => Group::Ecv,
        _ => Group::Base,
    }
}

/// Whether `mrs` of this register queries what the CPU is or has: the identification registers `S3_0_C0_C<m>_<op2>`.
pub(super) const fn is_identification(word: u32) -> bool {
    system_register(word) & 0xff80 == register(3, 0, 0, 0, 0)
}

/// How many feature groups there are.
pub fn feature_group_count() -> usize {
    GROUPS.len()
}

/// The features of a group.
pub fn features_of(group: FeatureGroup) -> FeatureSet {
    GROUPS.get(usize::from(group.0)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::IntoEnumIterator;

    #[test]
    fn every_feature_set_of_the_decoder_has_a_group() {
        for set in Defined::iter() {
            let group = of_set(set);
            let features = GROUPS[group as usize];
            assert_eq!(
                features.is_empty(),
                matches!(set, Defined::V8 | Defined::CHK),
                "{set:?}: {features:?}"
            );
        }
    }

    #[test]
    fn groups_are_distinct() {
        for (i, a) in GROUPS.iter().enumerate() {
            assert!(!GROUPS[..i].contains(a), "{a:?}");
        }
    }
}
