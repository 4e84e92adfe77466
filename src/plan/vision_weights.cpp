// Parameters of vision towers; see weights.h.
//
// Blocks of nearly every tower are cut by tensor parallelism (VisionAttention and column/row layers), or whole with
// --mm-enable-dp-encoder. Sizes follow
// srt/models/{qwen2_5_vl,qwen3_vl,glm4v,internvl,siglip,gemma4_vision,clip,pixtral,…}.py.
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "src/facts/has_class.h"
#include "src/plan/weights.h"

namespace preflight::plan {
namespace {

double number(const Value& config, std::initializer_list<std::string_view> keys, double fallback = 0) {
  for (const auto key : keys) {
    if (const Value* v = config.find(key); v != nullptr && v->is_int()) return static_cast<double>(v->as_int());
  }
  return fallback;
}

// A plain encoder: four square matrices of attention and an MLP of `sides` matrices in every block.
double encoder(const Value& vision, double inner, double sides) {
  const double width = number(vision, {"embed_dim", "hidden_size", "width"});
  const double depth = number(vision, {"depth", "num_hidden_layers", "layers"});
  return depth * (4 * width * width + sides * width * inner);
}

double inner_width(const Value& vision) {
  const double width = number(vision, {"embed_dim", "hidden_size", "width"});
  return number(vision, {"intermediate_size"}, number(vision, {"mlp_ratio"}, 4) * width);
}

// DeepSeek-OCR names its two encoders under "width", each with its own, and convolutions that join them; plain layers
// that no parallelism cuts.
double joined_towers(const Value& towers) {
  double sum = 0;
  for (const auto& [name, tower] : towers.as_dict()) {
    if (!tower.is_dict()) continue;
    sum += encoder(tower, inner_width(tower), 2);
    double before = 256;  // the width of SAM's neck
    const Value* channels = tower.find("downsample_channels");
    if (channels == nullptr || !channels->is_list()) continue;
    for (const Value& c : channels->as_list()) {
      const double wide = c.is_int() ? static_cast<double>(c.as_int()) : before;
      sum += 9 * before * wide;
      before = wide;
    }
  }
  return sum;
}

// GLM-4V: the gated MLP of a block is as wide as the text model, and intermediate_size belongs to the merger.
VisionWeights glm4v(const Value& vision) {
  const double width = number(vision, {"hidden_size"});
  const double out = number(vision, {"out_hidden_size"}, width);
  const double merge = number(vision, {"spatial_merge_size"}, 2);
  return {.cut = encoder(vision, out, 3) + 3 * out * number(vision, {"intermediate_size"}),
          .whole = out * out + width * out * merge * merge};
}

// GLM-OCR: blocks as wide inside as told, and a merger like GLM-4V's.
VisionWeights glm_ocr(const Value& vision) {
  const double width = number(vision, {"hidden_size"});
  const double inner = number(vision, {"intermediate_size"});
  const double out = number(vision, {"out_hidden_size"}, width);
  const double merge = number(vision, {"spatial_merge_size"}, 2);
  return {.cut = encoder(vision, inner, 3) + 3 * out * number(vision, {"projection_intermediate_size"}, inner),
          .whole = out * out + width * out * merge * merge};
}

// LLaVA and Mistral 3: attention asks for attention's ranks, the MLP for all. What brings patches to the text model's
// width is whole; Mistral's joins a square of them first.
VisionWeights llava(const ModelFacts& m, const Value& vision) {
  const double width = number(vision, {"hidden_size"});
  const double text = static_cast<double>(m.hidden_size);
  const double patch = number(vision, {"patch_size"}, 14);
  const double side = std::floor(number(vision, {"image_size"}) / std::max(1.0, patch));
  const bool pixtral = vision.find("model_type") != nullptr && *vision.find("model_type") == Value("pixtral");
  const Value square = m.root("spatial_merge_size");
  const double merge = square.is_int() ? static_cast<double>(square.as_int()) : 0.0;
  const Value taken = m.root("vision_feature_layer");
  const double layers = taken.is_list() ? static_cast<double>(taken.as_list().size()) : 1.0;
  const double mlp = encoder(vision, inner_width(vision), pixtral ? 3 : 2) - encoder(vision, 0, 0);
  return {.cut = encoder(vision, 0, 0),
          .whole = 3 * patch * patch * width + (pixtral ? 0.0 : (side * side + 1) * width) +
                   merge * merge * width * width + layers * width * text + text * text,
          .over_all = mlp};
}

// Qwen2-Audio hears: Whisper's encoder as transformers has it, which nothing cuts, and one matrix to the text's width.
VisionWeights qwen2_audio(const ModelFacts& m, const Value& audio) {
  const double width = number(audio, {"d_model"}, 1280);
  const double inner = number(audio, {"encoder_ffn_dim"}, 5120);
  const double convolutions = 3 * width * (number(audio, {"num_mel_bins"}, 128) + width);
  return {.whole = convolutions + number(audio, {"max_source_positions"}, 1500) * width +
                   number(audio, {"encoder_layers"}, 32) * (4 * width * width + 2 * width * inner) +
                   width * static_cast<double>(m.hidden_size)};
}

// Qwen-VL: patches of a square are joined, then brought to the width of the text model by two matrices; one such
// merger more for every layer that also feeds the text model's first layers.
VisionWeights qwen_vl(const ModelFacts& m, const Value& vision) {
  const double width = number(vision, {"embed_dim", "hidden_size"});
  const double merge = number(vision, {"spatial_merge_size"}, 2);
  const double joined = width * merge * merge;
  const double out = number(vision, {"out_hidden_size"}, static_cast<double>(m.hidden_size));
  const Value* deep = vision.find("deepstack_visual_indexes");
  const double mergers = 1 + (deep != nullptr && deep->is_list() ? static_cast<double>(deep->as_list().size()) : 0.0);
  const bool gated = architecture_starts_with(m, {"Qwen2_5_VL"});
  const double attention = encoder(vision, 0, 0);
  const double rest =
      encoder(vision, inner_width(vision), gated ? 3 : 2) - attention + mergers * (joined * joined + joined * out);
  // The first two of them ask for attention's ranks in their attention alone.
  const bool early = architecture_starts_with(m, {"Qwen2VL", "Qwen2_5_VL"});
  return {.cut = attention + (early ? 0.0 : rest),
          .whole = number(vision, {"num_position_embeddings"}) * width,
          .over_all = early ? rest : 0.0};
}

// Voxtral hears: Whisper's encoder behind two convolutions, and four of its frames brought to the text model's width.
VisionWeights voxtral(const ModelFacts& m, const Value& audio) {
  const double width = number(audio, {"hidden_size"});
  const double text = static_cast<double>(m.hidden_size);
  const double convolutions = 3 * width * (number(audio, {"num_mel_bins"}) + width);
  return {.whole = convolutions + number(audio, {"max_source_positions"}) * width + 4 * width * text + text * text,
          .over_all = encoder(audio, inner_width(audio), 2)};
}

// GLM-ASR hears: Whisper's encoder without its table of positions, which nothing cuts, and frames that fill its inner
// width brought to the text model's through twice that.
VisionWeights glm_asr(const ModelFacts& m, const Value& audio) {
  const double width = number(audio, {"hidden_size"});
  const double inner = inner_width(audio);
  const double text = static_cast<double>(m.hidden_size);
  const double convolutions = 3 * width * (number(audio, {"num_mel_bins"}, 128) + width);
  return {.whole = convolutions + encoder(audio, inner, 2) + 2 * text * (inner + text)};
}

// Cosmos3's edge model: SigLIP's blocks, and a projector that joins patches of a square.
VisionWeights cosmos3_edge(const ModelFacts& m, const Value& vision) {
  const Value projector = m.root("projector_config");
  const double width = number(vision, {"hidden_size"});
  const double merge = number(projector, {"spatial_merge_size"}, number(vision, {"spatial_merge_size"}, 2));
  const double joined = number(projector, {"input_hidden_size"}, width) * merge * merge;
  const double inner = number(projector, {"merger_intermediate_size"}, joined);
  const double out = number(projector, {"out_hidden_size"}, static_cast<double>(m.hidden_size));
  const double attention = encoder(vision, 0, 0);
  return {.cut = attention,
          .over_all = encoder(vision, inner_width(vision), 2) - attention + joined * inner + inner * out};
}

// Qwen3-Omni's thinker sees as Qwen3-VL does, and hears: three convolutions, their channels over 16 bands brought to
// the encoder's width, and two matrices behind its layers.
VisionWeights qwen3_omni(const ModelFacts& m, const Value& thinker) {
  VisionWeights out;
  if (const Value* vision = thinker.find("vision_config"); vision != nullptr && vision->is_dict()) {
    out = qwen_vl(m, *vision);
    if (vision->find("num_position_embeddings") == nullptr) out.whole += 2304 * number(*vision, {"hidden_size"});
  }
  if (const Value* audio = thinker.find("audio_config"); audio != nullptr && audio->is_dict()) {
    const double width = number(*audio, {"d_model"});
    const double inner = number(*audio, {"encoder_ffn_dim"});
    const double channels = number(*audio, {"downsample_hidden_size"}, 480);
    out.cut += number(*audio, {"encoder_layers"}) * (4 * width * width + 2 * width * inner);
    out.whole += 9 * channels * (1 + 2 * channels) + 16 * channels * width + width * width +
                 width * number(*audio, {"output_dim"}, 3584);
  }
  return out;
}

// InternViT: its attention asks for attention's ranks, its MLP for all.
VisionWeights internvl(const ModelFacts& m, const Value& vision) {
  const double width = number(vision, {"hidden_size"});
  const double text = static_cast<double>(m.hidden_size);
  const double patch = number(vision, {"patch_size"}, 14);
  const double side = number(vision, {"image_size"}, 448) / patch;
  const double mlp = encoder(vision, inner_width(vision), 2) - encoder(vision, 0, 0);
  return {.cut = encoder(vision, 0, 0),
          .whole = 4 * width * text + text * text + width * (side * side + 1 + 3 * patch * patch),
          .over_all = mlp};
}

// Of the configuration around its parts.
double root_number(const ModelFacts& m, std::string_view key, double usual) {
  const Value value = m.root(key);
  return value.is_int() ? static_cast<double>(value.as_int()) : usual;
}

// LFM2-VL: SigLIP's blocks without a head, and patches of a square joined on the way to the text model's width.
VisionWeights lfm2_vl(const ModelFacts& m, const Value& vision) {
  const double width = number(vision, {"hidden_size"});
  const double factor = root_number(m, "downsample_factor", 2);
  const double inner = root_number(m, "projector_hidden_size", 2560);
  const double patch = number(vision, {"patch_size"}, 16);
  const double attention = encoder(vision, 0, 0);
  return {.cut = attention,
          .whole = width * (number(vision, {"num_patches"}, 256) + 3 * patch * patch),
          .over_all = encoder(vision, inner_width(vision), 2) - attention +
                      inner * (width * factor * factor + static_cast<double>(m.hidden_size))};
}

// Kimi-VL: MoonViT's blocks, a table of places for each axis, and patches of a square joined by two whole matrices.
VisionWeights kimi_vl(const Value& vision, double text) {
  const double width = number(vision, {"hidden_size"});
  const Value* kernel = vision.find("merge_kernel_size");
  double joined = width;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const bool told = kernel != nullptr && kernel->is_list() && axis < kernel->as_list().size();
    joined *= told && kernel->as_list()[axis].is_int() ? static_cast<double>(kernel->as_list()[axis].as_int()) : 2.0;
  }
  const double places = number(vision, {"init_pos_emb_height"}, 64) * number(vision, {"init_pos_emb_width"}, 64);
  const double attention = encoder(vision, 0, 0);
  return {.cut = attention,
          .whole = places * width + joined * joined + joined * text,
          .over_all = encoder(vision, inner_width(vision), 2) - attention};
}

// Aya Vision, by transformers' class: nothing is cut, and patches of a square are joined through a gated matrix.
VisionWeights aya(const ModelFacts& m, const Value& vision) {
  const double text = static_cast<double>(m.hidden_size);
  const double factor = root_number(m, "downsample_factor", 2);
  const double aligned = root_number(m, "alignment_intermediate_size", text);
  return {.whole = encoder(vision, inner_width(vision), 2) +
                   number(vision, {"hidden_size"}) * factor * factor * aligned + aligned / 2 * text};
}

// CLIP's own model: each of its parts is projected.
VisionWeights clip(const Value& vision, double text) {
  const double width = number(vision, {"hidden_size"});
  const double patch = number(vision, {"patch_size"}, 32);
  const double attention = encoder(vision, 0, 0);
  return {.cut = attention,
          .whole = (width + text) * number(vision, {"projection_dim"}, 512) + 3 * patch * patch * width,
          .over_all = encoder(vision, inner_width(vision), 2) - attention};
}

// Llama 3.2: some blocks look at all tiles, whose places have a table for each shape of picture and one for none.
VisionWeights mllama(const Value& vision, double text) {
  const double width = number(vision, {"hidden_size"});
  const double side =
      std::floor(number(vision, {"image_size"}, 448) / std::max(1.0, number(vision, {"patch_size"}, 14)));
  const double blocks = number(vision, {"num_hidden_layers"}, 32) + number(vision, {"num_global_layers"}, 8);
  const Value* shapes = vision.find("supported_aspect_ratios");
  const double tables =
      1 + (shapes != nullptr && shapes->is_list() ? static_cast<double>(shapes->as_list().size()) : 8);
  const double tiles = number(vision, {"max_num_tiles"}, 4);
  return {.cut = blocks * 4 * width * width,
          .whole = tables * tiles * (side * side + 1) * width + number(vision, {"vision_output_dim"}, 7680) * text,
          .over_all = blocks * 2 * width * inner_width(vision)};
}

// PaddleOCR-VL: SigLIP's blocks, a table of places for packed pictures, and patches of a square joined.
VisionWeights paddle_ocr(const Value& vision, double text) {
  constexpr double kPlaces = 32768;
  const double width = number(vision, {"hidden_size"});
  const double merge = number(vision, {"spatial_merge_size"}, 2);
  const double joined = width * merge * merge;
  const double attention = encoder(vision, 0, 0);
  return {.cut = attention,
          .whole = kPlaces * width + joined * joined + joined * text,
          .over_all = encoder(vision, inner_width(vision), 2) - attention};
}

// Of the classes that hear: their towers are described in a part of their own.
std::optional<VisionWeights> hearing_weights(const ModelFacts& model) {
  struct Hearing {
    std::string_view architecture;  // how its name begins
    const char* part;
    VisionWeights (*weights)(const ModelFacts&, const Value&);
  };
  constexpr std::array kHearing = {
      Hearing{"VoxtralFor", "audio_config", voxtral}, Hearing{"Qwen2Audio", "audio_config", qwen2_audio},
      Hearing{"GlmAsr", "audio_config", glm_asr}, Hearing{"Qwen3OmniMoe", "thinker_config", qwen3_omni},
      Hearing{"Qwen3ASR", "thinker_config", qwen3_omni}};
  for (const Hearing& row : kHearing) {
    const Value part = model.root(row.part);
    if (part.is_dict() && architecture_starts_with(model, {row.architecture})) return row.weights(model, part);
  }
  return std::nullopt;
}

}  // namespace

VisionWeights vision_weights(const ModelFacts& model) {
  if (const auto heard = hearing_weights(model)) return *heard;
  const Value vision = model.root("vision_config");
  // Gemma builds its tower also where images are switched off.
  if (!vision.is_dict() || (!model.is_multimodal && !architecture_starts_with(model, {"Gemma3", "Gemma4"}))) return {};
  if (const Value* towers = vision.find("width"); towers != nullptr && towers->is_dict()) {
    return {.whole = joined_towers(*towers)};
  }
  const double inner = inner_width(vision);
  const double text = static_cast<double>(model.hidden_size);
  const double width = number(vision, {"hidden_size", "embed_dim"});
  if (architecture_starts_with(model, {"Glm4v"})) return glm4v(vision);
  if (architecture_starts_with(model, {"GlmOcr"})) return glm_ocr(vision);
  if (architecture_starts_with(model, {"LlavaForConditional", "LightOnOCR", "Mistral3For"}))
    return llava(model, vision);
  if (architecture_starts_with(model, {"Qwen2VL", "Qwen2_5_VL", "Qwen3VL", "Qwen3_5"})) return qwen_vl(model, vision);
  if (architecture_starts_with(model, {"InternVL"})) return internvl(model, vision);
  if (architecture_starts_with(model, {"Lfm2Vl"})) return lfm2_vl(model, vision);
  if (architecture_starts_with(model, {"KimiVL"})) return kimi_vl(vision, text);
  if (architecture_starts_with(model, {"AyaVision"})) return aya(model, vision);
  if (architecture_starts_with(model, {"CLIPModel"})) return clip(vision, text);
  if (architecture_starts_with(model, {"Mllama"})) return mllama(vision, text);
  if (architecture_starts_with(model, {"PaddleOCR"})) return paddle_ocr(vision, text);
  if (architecture_starts_with(model, {"Cosmos3Edge"})) return cosmos3_edge(model, vision);
  if (architecture_starts_with(model, {"Gemma4"})) {
    // Positions come from a table for each axis.
    const double positions = 2 * number(vision, {"position_embedding_size"}, 10240);
    return {.whole = width * (text + positions), .over_all = encoder(vision, inner, 3)};
  }
  if (architecture_starts_with(model, {"Gemma3", "Llama4"})) {
    const double joined = architecture_starts_with(model, {"Gemma3"}) ? width : 4 * width;
    const double attention = encoder(vision, 0, 0);
    return {.cut = attention, .whole = joined * text, .over_all = encoder(vision, inner, 2) - attention};
  }
  return {.whole = encoder(vision, inner, 2)};
}

}  // namespace preflight::plan
