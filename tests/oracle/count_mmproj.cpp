// Counts tokens with llama.cpp's own mtmd: everything but the weights. Compiled against llama.cpp's
// sources S and its libraries in B (the graphs are never built, so their files stay out):
//   I="-I$S/tools/mtmd -I$S/include -I$S/ggml/include -I$S/common -I$S/vendor -I$S/src -I$S"
//   g++ -std=c++17 -O1 -w $I count_mmproj.cpp $S/tools/mtmd/mtmd-image.cpp
//     $S/tools/mtmd/mtmd-audio.cpp -o count_mmproj -L$B -lllama -lggml -lggml-base -lggml-cpu
//     -lpthread -Wl,-rpath,$B -Wl,--unresolved-symbols=ignore-all -no-pie
#define clip_init clip_init_of_weights
#define clip_n_mmproj_embd clip_n_mmproj_embd_of_weights
#include "clip.cpp"
#undef clip_init
#undef clip_n_mmproj_embd
struct clip_init_result clip_init(const char * fname, struct clip_context_params ctx_params);
int clip_n_mmproj_embd(const struct clip_ctx * ctx);
#include "mtmd.cpp"

int clip_n_mmproj_embd(const struct clip_ctx *) { return 8; }

struct clip_init_result clip_init(const char * fname, struct clip_context_params params) {
    clip_model_loader loader(fname, false, nullptr, nullptr);
    clip_ctx * vision = nullptr, * audio = nullptr;
    if (loader.has_vision) {
        vision = new clip_ctx(params);
        loader.load_hparams(vision->model, CLIP_MODALITY_VISION);
        vision->model.token_embd_img_break = ggml_get_tensor(loader.ctx_meta.get(), TN_TOK_IMG_BREAK);
        vision->model.mm_boi = ggml_get_tensor(loader.ctx_meta.get(), TN_TOK_GLM_BOI);
    }
    if (loader.has_audio && !(vision && vision->model.proj_type == PROJECTOR_TYPE_GEMMA3NV)) {
        audio = new clip_ctx(params);
        loader.load_hparams(audio->model, CLIP_MODALITY_AUDIO);
    }
    return {vision, audio, nullptr};
}

static void quiet(ggml_log_level, const char *, void *) {}

static size_t counted(mtmd_context * ctx, const std::vector<mtmd_bitmap *> & items, bool of_text) {
    mtmd_input_chunks chunks;
    std::string text;
    for (size_t i = 0; i < items.size(); i++) text += "<__media__>";
    mtmd_input_text input{text.c_str(), text.size(), false, true};
    mtmd_tokenizer t(ctx, &input, (const mtmd_bitmap * const *) items.data(), items.size());
    if (t.tokenize(&chunks) != 0) throw std::runtime_error("mtmd refuses it");
    size_t n = 0;
    for (auto & c : chunks.entries) {
        if (of_text || c.type != MTMD_INPUT_CHUNK_TYPE_TEXT) n += mtmd_input_chunk_get_n_tokens(&c);
    }
    return n;
}

// count VOCAB MMPROJ  and lines on stdin: "image W H" | "audio SAMPLES" | "rate"
int main(int, char ** argv) {
    llama_log_set(quiet, nullptr);
    mtmd_log_set(quiet, nullptr);
    auto mp = llama_model_default_params();
    mp.vocab_only = true;
    llama_model * text = llama_model_load_from_file(argv[1], mp);
    if (!text) { fprintf(stderr, "no vocab\n"); return 2; }
    auto cp = mtmd_context_params_default();
    cp.use_gpu = false; cp.warmup = false;
    mtmd_context * ctx = nullptr;
    try { ctx = new mtmd_context(argv[2], text, cp); }
    catch (const std::exception & e) { printf("error %s\n", e.what()); return 1; }
    char kind[16];
    while (scanf("%15s", kind) == 1) {
        long a = 0, b = 0;
        if (std::string(kind) == "rate") { printf("%d\n", ctx->ctx_a ? mtmd_get_audio_sample_rate(ctx) : 0); continue; }
        mtmd_bitmap * bm;
        std::vector<unsigned char> data;
        if (std::string(kind) == "image") {
            if (scanf("%ld %ld", &a, &b) != 2) return 3;
            bm = new mtmd_bitmap(nullptr, (uint32_t) a, (uint32_t) b);
        } else {
            if (scanf("%ld", &a) != 1) return 3;
            data.resize(a * 4);
            bm = new mtmd_bitmap(data.data(), (uint32_t) a);
        }
        try { printf("%zu %zu\n", counted(ctx, {bm}, true), counted(ctx, {bm}, false)); }
        catch (const std::exception & e) { printf("error %s\n", e.what()); }
        delete bm;
        fflush(stdout);
    }
    return 0;
}
