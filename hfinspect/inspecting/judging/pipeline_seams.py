"""The seams of the pipelines of diffusers, class by class.

Sources: ``pipelines/*/pipeline_*.py`` of diffusers 0.42.1, what each does in ``prepare_latents``,
``encode_prompt`` and ``check_inputs``. A class that is not here has no seam that is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .part_sizes import CONTEXT, HIDDEN, LATENT, PROJECTION
from .seam_terms import Seam, SeamTerm, Way


def _takes(part: str, size: str, *ways: Way) -> Seam:
    return Seam(part, size, ways)


def _text(part: str, size: str, encoder: str, factor: int = 1) -> Seam:
    """The denoiser takes the states of one encoder, of so many layers side by side."""
    return Seam(part, size, (Way((SeamTerm(encoder, HIDDEN, factor),)),))


def _latents(vae: str, factor: int = 1, plus: int = 0) -> Way:
    """So many latents next to each other, and ``plus`` channels of a mask or an image."""
    return Way((SeamTerm(vae, LATENT, factor),), plus)


# ---- UNets with the text encoders of CLIP: Stable Diffusion and its kin

_ENCODER: Final = Seam(
    "unet", CONTEXT, (Way((SeamTerm("text_encoder", HIDDEN),)),), of_declared=True
)
#: Both encoders' states side by side; the refiner has one of them (pipeline_stable_diffusion_xl.py,
#: encode_prompt: ``torch.concat(prompt_embeds_list, dim=-1)``).
_TWO_ENCODERS: Final = Seam(
    "unet",
    CONTEXT,
    (Way((SeamTerm("text_encoder", HIDDEN), SeamTerm("text_encoder_2", HIDDEN))),),
    of_declared=True,
)
#: The pooled text and six numbers, or five with an aesthetic score (_get_add_time_ids).
_ADDED: Final = _takes(
    "unet",
    "projection_class_embeddings_input_dim",
    Way((SeamTerm("text_encoder_2", PROJECTION), SeamTerm("unet", "addition_time_embed_dim", 6))),
    Way((SeamTerm("text_encoder_2", PROJECTION), SeamTerm("unet", "addition_time_embed_dim", 5))),
)
#: Kolors: the last state of ChatGLM is the pooled one.
_ADDED_CHATGLM: Final = _takes(
    "unet",
    "projection_class_embeddings_input_dim",
    Way((SeamTerm("text_encoder", HIDDEN), SeamTerm("unet", "addition_time_embed_dim", 6))),
)
_SAME_IN: Final = _takes("unet", "in_channels", _latents("vae"))
_SAME_OUT: Final = _takes("unet", "out_channels", _latents("vae"))
#: Latents alone, or with a mask and the masked image (``should have either 4 or 9 input``).
_WITH_MASK: Final = _takes("unet", "in_channels", _latents("vae"), _latents("vae", 2, 1))
_DOUBLE_IN: Final = _takes("unet", "in_channels", _latents("vae", 2))
_CONTROLLED: Final = _takes("controlnet", CONTEXT, Way((SeamTerm("unet", CONTEXT),)))
_CONTROLLED_IN: Final = _takes("controlnet", "in_channels", _latents("vae"))
#: The image's vector takes the text's place.
_IMAGE_ENCODER: Final = _takes("unet", CONTEXT, Way((SeamTerm("image_encoder", PROJECTION),)))

_PLAIN: Final = (_ENCODER, _SAME_IN, _SAME_OUT)
_PLAIN_XL: Final = (_TWO_ENCODERS, _ADDED, _SAME_IN, _SAME_OUT)
_PLAIN_KOLORS: Final = (_ENCODER, _ADDED_CHATGLM, _SAME_IN, _SAME_OUT)

_UNETS: Final[Mapping[str, tuple[Seam, ...]]] = {
    **dict.fromkeys(
        (
            "AnimateDiffControlNetPipeline",
            "AnimateDiffPAGPipeline",
            "AnimateDiffPipeline",
            "AnimateDiffSparseControlNetPipeline",
            "AnimateDiffVideoToVideoControlNetPipeline",
            "AnimateDiffVideoToVideoPipeline",
            "CycleDiffusionPipeline",
            "I2VGenXLPipeline",
            "LEditsPPPipelineStableDiffusion",
            "LatentConsistencyModelImg2ImgPipeline",
            "LatentConsistencyModelPipeline",
            "SemanticStableDiffusionPipeline",
            "StableDiffusionAdapterPipeline",
            "StableDiffusionAttendAndExcitePipeline",
            "StableDiffusionDiffEditPipeline",
            "StableDiffusionGLIGENPipeline",
            "StableDiffusionImg2ImgPipeline",
            "StableDiffusionInpaintPipelineLegacy",
            "StableDiffusionLDM3DPipeline",
            "StableDiffusionModelEditingPipeline",
            "StableDiffusionPAGImg2ImgPipeline",
            "StableDiffusionPAGPipeline",
            "StableDiffusionPanoramaPipeline",
            "StableDiffusionParadigmsPipeline",
            "StableDiffusionPipeline",
            "StableDiffusionPipelineSafe",
            "StableDiffusionPix2PixZeroPipeline",
            "StableDiffusionSAGPipeline",
            "StableUnCLIPImg2ImgPipeline",
            "StableUnCLIPPipeline",
            "TextToVideoSDPipeline",
            "TextToVideoZeroPipeline",
            "VideoToVideoSDPipeline",
        ),
        _PLAIN,
    ),
    **dict.fromkeys(
        (
            "StableDiffusionControlNetImg2ImgPipeline",
            "StableDiffusionControlNetPAGPipeline",
            "StableDiffusionControlNetPipeline",
        ),
        (*_PLAIN, _CONTROLLED, _CONTROLLED_IN),
    ),
    **dict.fromkeys(
        ("StableDiffusionInpaintPipeline", "StableDiffusionPAGInpaintPipeline"),
        (_ENCODER, _WITH_MASK, _SAME_OUT),
    ),
    **dict.fromkeys(
        (
            "StableDiffusionControlNetInpaintPipeline",
            "StableDiffusionControlNetPAGInpaintPipeline",
        ),
        (_ENCODER, _WITH_MASK, _SAME_OUT, _CONTROLLED, _CONTROLLED_IN),
    ),
    **dict.fromkeys(
        (
            "MarigoldDepthPipeline",
            "MarigoldNormalsPipeline",
            "StableDiffusionInstructPix2PixPipeline",
        ),
        (_ENCODER, _DOUBLE_IN, _SAME_OUT),
    ),
    "StableDiffusionDepth2ImgPipeline": (
        _ENCODER,
        _takes("unet", "in_channels", _latents("vae", 1, 1)),
        _SAME_OUT,
    ),
    "StableDiffusionUpscalePipeline": (
        _ENCODER,
        _takes("unet", "in_channels", _latents("vae", 1, 3)),  # and the small image
        _SAME_OUT,
    ),
    "StableDiffusionLatentUpscalePipeline": (_ENCODER, _DOUBLE_IN),
    "StableDiffusionImageVariationPipeline": (_IMAGE_ENCODER, _SAME_IN, _SAME_OUT),
    "StableVideoDiffusionPipeline": (_IMAGE_ENCODER, _DOUBLE_IN, _SAME_OUT),
    "PaintByExamplePipeline": (_takes("unet", "in_channels", _latents("vae", 2, 1)),),
    **dict.fromkeys(("AltDiffusionImg2ImgPipeline", "AltDiffusionPipeline"), (_SAME_IN, _SAME_OUT)),
    **dict.fromkeys(
        (
            "AnimateDiffSDXLPipeline",
            "LEditsPPPipelineStableDiffusionXL",
            "StableDiffusionXLAdapterPipeline",
            "StableDiffusionXLImg2ImgPipeline",
            "StableDiffusionXLPAGImg2ImgPipeline",
            "StableDiffusionXLPAGPipeline",
            "StableDiffusionXLPipeline",
            "TextToVideoZeroSDXLPipeline",
        ),
        _PLAIN_XL,
    ),
    **dict.fromkeys(
        (
            "StableDiffusionXLControlNetImg2ImgPipeline",
            "StableDiffusionXLControlNetPAGImg2ImgPipeline",
            "StableDiffusionXLControlNetPAGPipeline",
            "StableDiffusionXLControlNetPipeline",
        ),
        (*_PLAIN_XL, _CONTROLLED, _CONTROLLED_IN),
    ),
    **dict.fromkeys(
        ("StableDiffusionXLInpaintPipeline", "StableDiffusionXLPAGInpaintPipeline"),
        (_TWO_ENCODERS, _ADDED, _WITH_MASK, _SAME_OUT),
    ),
    "StableDiffusionXLControlNetInpaintPipeline": (
        _TWO_ENCODERS,
        _ADDED,
        _WITH_MASK,
        _SAME_OUT,
        _CONTROLLED,
    ),
    "StableDiffusionXLInstructPix2PixPipeline": (_TWO_ENCODERS, _ADDED, _DOUBLE_IN, _SAME_OUT),
    **dict.fromkeys(
        ("KolorsImg2ImgPipeline", "KolorsPAGPipeline", "KolorsPipeline"), _PLAIN_KOLORS
    ),
    # The pixels themselves are denoised: there is no autoencoder.
    **dict.fromkeys(
        (
            "IFImg2ImgPipeline",
            "IFImg2ImgSuperResolutionPipeline",
            "IFInpaintingPipeline",
            "IFInpaintingSuperResolutionPipeline",
            "IFPipeline",
            "IFSuperResolutionPipeline",
        ),
        (_ENCODER,),
    ),
}

# ---- Kandinsky: a prior makes the image's vector, a decoder the image

_MOVQ_IN: Final = _takes("unet", "in_channels", _latents("movq"))
_MOVQ_MASKED: Final = _takes("unet", "in_channels", _latents("movq", 2, 1))
_PRIOR: Final = (
    _takes("prior", "embedding_dim", Way((SeamTerm("text_encoder", PROJECTION),))),
    _takes("prior", "embedding_dim", Way((SeamTerm("text_encoder", HIDDEN),))),
    _takes("prior", "embedding_dim", Way((SeamTerm("image_encoder", PROJECTION),))),
)
_KANDINSKY_5: Final = (
    _text("transformer", "in_text_dim", "text_encoder"),
    _text("transformer", "in_text_dim2", "text_encoder_2"),
    _takes("transformer", "in_visual_dim", _latents("vae")),
)

_KANDINSKY: Final[Mapping[str, tuple[Seam, ...]]] = {
    **dict.fromkeys(
        (
            "KandinskyImg2ImgPipeline",
            "KandinskyPipeline",
            "KandinskyV22Img2ImgPipeline",
            "KandinskyV22Pipeline",
        ),
        (_MOVQ_IN,),
    ),
    **dict.fromkeys(("KandinskyInpaintPipeline", "KandinskyV22InpaintPipeline"), (_MOVQ_MASKED,)),
    **dict.fromkeys(
        ("KandinskyPriorPipeline", "KandinskyV22PriorEmb2EmbPipeline", "KandinskyV22PriorPipeline"),
        _PRIOR,
    ),
    **dict.fromkeys(
        ("Kandinsky3Img2ImgPipeline", "Kandinsky3Pipeline"),
        (_text("unet", "encoder_hid_dim", "text_encoder"), _MOVQ_IN),
    ),
    **dict.fromkeys(
        (
            "Kandinsky5I2IPipeline",
            "Kandinsky5I2VPipeline",
            "Kandinsky5T2IPipeline",
            "Kandinsky5T2VPipeline",
        ),
        _KANDINSKY_5,
    ),
}

# ---- Stable Cascade: likewise

_CASCADE: Final[Mapping[str, tuple[Seam, ...]]] = {
    "StableCascadePriorPipeline": (
        _text("prior", "clip_text_in_channels", "text_encoder"),
        _takes(
            "prior", "clip_text_pooled_in_channels", Way((SeamTerm("text_encoder", PROJECTION),))
        ),
        _takes("prior", "clip_image_in_channels", Way((SeamTerm("image_encoder", PROJECTION),))),
    ),
    "StableCascadeDecoderPipeline": (
        _takes(
            "decoder", "clip_text_pooled_in_channels", Way((SeamTerm("text_encoder", PROJECTION),))
        ),
        _takes("decoder", "in_channels", _latents("vqgan")),
    ),
}

# ---- transformers with one text encoder; latents as they are, or packed two by two

_IN: Final = _takes("transformer", "in_channels", _latents("vae"))
_OUT: Final = _takes("transformer", "out_channels", _latents("vae"))
_IN_DOUBLE: Final = _takes("transformer", "in_channels", _latents("vae", 2))
_IN_PACKED: Final = _takes("transformer", "in_channels", _latents("vae", 4))
_IN_PACKED_DOUBLE: Final = _takes("transformer", "in_channels", _latents("vae", 8))
_IN_ONE_MORE: Final = _takes("transformer", "in_channels", _latents("vae", 1, 1))
_CAPTION: Final = _text("transformer", "caption_channels", "text_encoder")
_TEXT_EMBED: Final = _text("transformer", "text_embed_dim", "text_encoder")
_JOINT: Final = _text("transformer", "joint_attention_dim", "text_encoder")
_QWEN: Final = (_JOINT, _IN_PACKED, _OUT)

# Wan: latents, or with an image four channels of a mask and its latents next to them
# (pipeline_wan_i2v.py, prepare_latents: ``torch.concat([mask_lat_size, latent_condition])``).
_WAN_IMAGE: Final = (_latents("vae"), _latents("vae", 2, 4))
_WAN: Final = tuple(
    seam
    for part in ("transformer", "transformer_2")
    for seam in (
        _text(part, "text_dim", "text_encoder"),
        _takes(part, "in_channels", _latents("vae")),
        _takes(part, "out_channels", _latents("vae")),
    )
)
_WAN_I2V: Final = tuple(
    seam
    for part in ("transformer", "transformer_2")
    for seam in (
        _text(part, "text_dim", "text_encoder"),
        _text(part, "image_dim", "image_encoder"),
        _takes(part, "in_channels", *_WAN_IMAGE),
        _takes(part, "out_channels", _latents("vae")),
    )
)

_ONE_ENCODER: Final[Mapping[str, tuple[Seam, ...]]] = {
    "AllegroPipeline": (_CAPTION, _IN),
    "AuraFlowPipeline": (_JOINT, _IN),
    "BriaPipeline": (_JOINT, _IN_PACKED),
    "CogVideoXFunControlPipeline": (_TEXT_EMBED, _IN_DOUBLE),
    "CogVideoXImageToVideoPipeline": (_TEXT_EMBED, _IN_DOUBLE, _OUT),
    "CogVideoXPipeline": (_TEXT_EMBED, _IN, _OUT),
    "CogVideoXVideoToVideoPipeline": (_TEXT_EMBED, _IN, _OUT),
    "CogView3PlusPipeline": (_TEXT_EMBED, _IN),
    "CogView4ControlPipeline": (_TEXT_EMBED, _IN_DOUBLE),
    "CogView4Pipeline": (_TEXT_EMBED, _IN),
    "ConsisIDPipeline": (_TEXT_EMBED, _IN_DOUBLE),
    "Cosmos2TextToImagePipeline": (_TEXT_EMBED, _IN),
    "Cosmos2VideoToWorldPipeline": (_TEXT_EMBED, _IN_ONE_MORE),
    "CosmosTextToWorldPipeline": (_TEXT_EMBED, _IN),
    "CosmosVideoToWorldPipeline": (_TEXT_EMBED, _IN_ONE_MORE),
    "DiTPipeline": (_IN,),
    "LattePipeline": (_CAPTION, _IN),
    "Lumina2Pipeline": (_text("transformer", "cap_feat_dim", "text_encoder"), _IN),
    "LuminaPipeline": (_text("transformer", "cross_attention_dim", "text_encoder"), _IN),
    "MochiPipeline": (_TEXT_EMBED, _IN),
    "OmniGenPipeline": (_IN,),
    "OvisImagePipeline": (_JOINT, _IN_PACKED),
    **dict.fromkeys(("LongCatImageEditPipeline", "LongCatImagePipeline"), (_JOINT, _IN_PACKED)),
    **dict.fromkeys(
        ("ChromaImg2ImgPipeline", "ChromaInpaintPipeline", "ChromaPipeline"), (_JOINT, _IN_PACKED)
    ),
    # The states of three layers side by side (text_encoder_out_layers).
    **dict.fromkeys(
        ("Flux2KleinKVPipeline", "Flux2KleinPipeline", "Flux2Pipeline"),
        (_text("transformer", "joint_attention_dim", "text_encoder", 3), _IN_PACKED),
    ),
    **dict.fromkeys(
        (
            "LTXConditionPipeline",
            "LTXI2VLongMultiPromptPipeline",
            "LTXImageToVideoPipeline",
            "LTXPipeline",
        ),
        (_CAPTION, _IN, _OUT),
    ),
    **dict.fromkeys(
        (
            "PixArtAlphaPipeline",
            "PixArtSigmaPAGPipeline",
            "PixArtSigmaPipeline",
            "SanaControlNetPipeline",
            "SanaPAGPipeline",
            "SanaPipeline",
            "SanaSprintImg2ImgPipeline",
            "SanaSprintPipeline",
            "SanaVideoPipeline",
        ),
        (_CAPTION, _IN),
    ),
    **dict.fromkeys(
        (
            "QwenImageControlNetInpaintPipeline",
            "QwenImageControlNetPipeline",
            "QwenImageEditInpaintPipeline",
            "QwenImageEditPipeline",
            "QwenImageEditPlusPipeline",
            "QwenImageImg2ImgPipeline",
            "QwenImageInpaintPipeline",
            "QwenImageLayeredPipeline",
            "QwenImagePipeline",
        ),
        _QWEN,
    ),
    **dict.fromkeys(
        ("ZImageImg2ImgPipeline", "ZImageInpaintPipeline", "ZImagePipeline"),
        (_text("transformer", "cap_feat_dim", "text_encoder"), _IN),
    ),
    **dict.fromkeys(
        (
            "SkyReelsV2DiffusionForcingPipeline",
            "SkyReelsV2DiffusionForcingVideoToVideoPipeline",
            "SkyReelsV2Pipeline",
            "WanPipeline",
            "WanVACEPipeline",
            "WanVideoToVideoPipeline",
        ),
        _WAN,
    ),
    "WanImageToVideoPipeline": _WAN_I2V,
    "StableAudioPipeline": (
        _text("projection_model", "text_encoder_dim", "text_encoder"),
        _takes(
            "transformer",
            "cross_attention_dim",
            Way((SeamTerm("projection_model", "conditioning_dim"),)),
        ),
        _IN,
    ),
}

# ---- transformers with several text encoders

#: Both CLIPs' vectors side by side.
_POOLED_CLIPS: Final = Way(
    (SeamTerm("text_encoder", PROJECTION), SeamTerm("text_encoder_2", PROJECTION))
)
_SD3: Final = (
    _text("transformer", "joint_attention_dim", "text_encoder_3"),
    _takes("transformer", "pooled_projection_dim", _POOLED_CLIPS),
)
#: CLIP's pooled state, of its full width, and T5's states (its pipeline's encode_prompt).
_FLUX: Final = (
    _text("transformer", "joint_attention_dim", "text_encoder_2"),
    _text("transformer", "pooled_projection_dim", "text_encoder"),
)
_HUNYUAN_DIT: Final = (
    _text("transformer", "cross_attention_dim", "text_encoder"),
    _text("transformer", "cross_attention_dim_t5", "text_encoder_2"),
)
_HUNYUAN_VIDEO: Final = (
    _TEXT_EMBED,
    _text("transformer", "pooled_projection_dim", "text_encoder_2"),
)
_TWO_TEXTS: Final = (_TEXT_EMBED, _text("transformer", "text_embed_2_dim", "text_encoder_2"))

_SEVERAL_ENCODERS: Final[Mapping[str, tuple[Seam, ...]]] = {
    **dict.fromkeys(
        (
            "StableDiffusion3ControlNetPipeline",
            "StableDiffusion3Img2ImgPipeline",
            "StableDiffusion3PAGImg2ImgPipeline",
            "StableDiffusion3PAGPipeline",
            "StableDiffusion3Pipeline",
        ),
        (*_SD3, _IN, _OUT),
    ),
    "StableDiffusion3InpaintPipeline": (
        *_SD3,
        _takes("transformer", "in_channels", _latents("vae"), _latents("vae", 2, 1)),
        _OUT,
    ),
    **dict.fromkeys(
        (
            "FluxControlNetImg2ImgPipeline",
            "FluxControlNetInpaintPipeline",
            "FluxControlNetPipeline",
            "FluxImg2ImgPipeline",
            "FluxInpaintPipeline",
            "FluxKontextInpaintPipeline",
            "FluxKontextPipeline",
            "FluxPipeline",
        ),
        (*_FLUX, _IN_PACKED),
    ),
    **dict.fromkeys(
        ("FluxControlImg2ImgPipeline", "FluxControlInpaintPipeline", "FluxControlPipeline"),
        (*_FLUX, _IN_PACKED_DOUBLE),
    ),
    # Latents, those of the masked image, and the mask's 8 x 8 pixels of each, all packed.
    "FluxFillPipeline": (
        *_FLUX,
        _takes("transformer", "in_channels", _latents("vae", 8, 256)),
    ),
    **dict.fromkeys(
        ("HunyuanDiTControlNetPipeline", "HunyuanDiTPAGPipeline", "HunyuanDiTPipeline"),
        (*_HUNYUAN_DIT, _IN),
    ),
    **dict.fromkeys(
        ("HunyuanVideoFramepackPipeline", "HunyuanVideoPipeline"), (*_HUNYUAN_VIDEO, _IN)
    ),
    "HunyuanSkyreelsImageToVideoPipeline": (*_HUNYUAN_VIDEO, _IN_DOUBLE),
    "HunyuanVideoImageToVideoPipeline": (
        *_HUNYUAN_VIDEO,
        _takes("transformer", "in_channels", _latents("vae"), _latents("vae", 2, 1)),
    ),
    **dict.fromkeys(
        ("HunyuanVideo15ImageToVideoPipeline", "HunyuanVideo15Pipeline"),
        (*_TWO_TEXTS, _takes("transformer", "in_channels", _latents("vae", 2, 1))),
    ),
    "HunyuanImagePipeline": (*_TWO_TEXTS, _IN),
    "HiDreamImagePipeline": (_takes("transformer", "text_emb_dim", _POOLED_CLIPS), _IN),
}

#: Pipeline class -> its seams.
SEAMS: Final[Mapping[str, tuple[Seam, ...]]] = {
    **_UNETS,
    **_KANDINSKY,
    **_CASCADE,
    **_ONE_ENCODER,
    **_SEVERAL_ENCODERS,
}
