// Prints what a real llama.cpp reserves for a model, in bytes, one line of JSON each.
//
//   names                      architectures: name, experts needed, experts possible
//   tiny NAME MOE OUT.gguf [KEY=VALUES ...]
//                              writes the tiny model of llama.cpp's own test of architectures, with
//                              other key-values: KEY=7, KEY=0.5, KEY=yes, KEY=[1:0:1], KEY=-
//   header KEYS.gguf OUT.gguf  adds the tensors that llama.cpp asks for to a file of key-values
//   run FILE.gguf SETTING ...  loads a file and makes a context for each setting
//   plan FILE.gguf SETTING ... the same without allocating weights or caches: for full-size headers
//
// A setting is n_ctx,n_seq_max,n_ubatch,kv_unified,swa_full,type_k,type_v,flash_attn and, where it is
// not n_batch, n_outputs_max (llama-server: its slots). Needs llama.cpp's source and its build; tests/sizing/record_llama_cpp.py compiles it and calls it.
#define main llama_cpp_test_main
#include "tests/test-llama-archs.cpp"
#undef main

#include "src/llama-ext.h"
#include "src/llama-kv-cache-dsv4.h"
#include "src/llama-memory-hybrid-idx.h"
#include "src/llama-memory-hybrid-iswa.h"
#include "src/llama-memory-hybrid.h"
#include "src/llama-memory-recurrent.h"
#include "src/llama-model.h"

#include <fstream>

static std::string g_last_error;

static void keep_errors(ggml_log_level level, const char * text, void *) {
    if (getenv("LLAMA_CPP_LOG")) fputs(text, stderr);
    if (level == GGML_LOG_LEVEL_ERROR && g_last_error.size() < 400) g_last_error += text;
}

static std::string as_json(const std::string & text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (c == '\n') { out += " "; continue; }
        out += c;
    }
    return out + "\"";
}

static void zeros(ggml_tensor *, void *) {}

static size_t sum(const std::map<ggml_backend_buffer_type_t, size_t> & sizes) {
    size_t total = 0;
    for (const auto & pair : sizes) total += pair.second;
    return total;
}

static llama_memory_recurrent * recurrent_of(llama_memory_i * memory) {
    if (auto * found = dynamic_cast<llama_memory_recurrent *>(memory)) return found;
    if (auto * found = dynamic_cast<llama_memory_hybrid *>(memory)) return found->get_mem_recr();
    if (auto * found = dynamic_cast<llama_memory_hybrid_iswa *>(memory)) return found->get_mem_recr();
    return nullptr;
}

static ggml_type type_named(const std::string & name) {
    for (int i = 0; i < GGML_TYPE_COUNT; i++) {
        const char * own = ggml_type_name((ggml_type) i);
        if (own && name == own) return (ggml_type) i;
    }
    throw std::runtime_error("no such type: " + name);
}


static void run_setting(llama_model * model, const std::string & text) {
    std::vector<std::string> parts;
    std::stringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
    if (parts.size() != 8 && parts.size() != 9) throw std::runtime_error("a setting has eight or nine parts: " + text);
    llama_context_params params = llama_context_default_params();
    params.n_ctx = std::stoul(parts[0]);
    params.n_seq_max = std::stoul(parts[1]);
    params.n_ubatch = std::stoul(parts[2]);
    params.n_batch = std::max(params.n_batch, params.n_ubatch);
    params.kv_unified = parts[3] == "1";
    params.swa_full = parts[4] == "1";
    params.type_k = type_named(parts[5]);
    params.type_v = type_named(parts[6]);
    params.flash_attn_type = parts[7] == "1" ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
    if (parts.size() == 9) params.n_outputs_max = std::stoul(parts[8]);
    params.n_threads = params.n_threads_batch = 1;
    g_last_error.clear();
    llama_context * ctx = llama_init_from_model(model, params);
    if (!ctx) {
        printf("{\"setting\": %s, \"refused\": %s}\n", as_json(text).c_str(), as_json(g_last_error).c_str());
        fflush(stdout);
        return;
    }
    size_t weights = 0, context = 0, compute = 0;
    for (const auto & [buft, data] : llama_get_memory_breakdown(ctx)) {
        weights += data.model;
        context += data.context;
        compute += data.compute;
    }
    llama_memory_recurrent * recurrent = recurrent_of((llama_memory_i *) llama_get_memory(ctx));
    const size_t state = recurrent ? sum(recurrent->memory_breakdown()) : 0;
    printf("{\"setting\": %s, \"model\": %zu, \"kv\": %zu, \"rs\": %zu, \"compute\": %zu}\n",
        as_json(text).c_str(), weights, context - state, state, compute);
    fflush(stdout);
    llama_free(ctx);
}

// Writes the key-values with the tensors that llama.cpp asks for; weights only where asked.
static int write_with_tensors(gguf_context * keys, bool weights, const char * out) {
    llama_model_params params = llama_model_default_params();
    params.no_alloc = !weights;
    llama_model * model = llama_model_init_from_user(keys, zeros, nullptr, params);
    if (!model) {
        printf("{\"refused\": %s}\n", as_json(g_last_error).c_str());
        return 1;
    }
    gguf_context_ptr file(gguf_init_empty());
    gguf_set_kv(file.get(), keys);
    std::map<std::string, bool> seen;
    for (const auto & [tensor_name, tensor] : llama_internal_get_tensor_map(model)) {
        if (seen.emplace(tensor_name, true).second) gguf_add_tensor(file.get(), tensor);
    }
    gguf_write_to_file(file.get(), out, !weights);
    return 0;
}

static void set_key(gguf_context * keys, const std::string & text) {
    const size_t at = text.find('=');
    const std::string key = text.substr(0, at), value = text.substr(at + 1);
    if (value == "-") {
        gguf_remove_key(keys, key.c_str());
    } else if (value[0] == '[') {
        std::vector<uint32_t> numbers;
        std::stringstream stream(value.substr(1, value.size() - 2));
        for (std::string part; std::getline(stream, part, ':');) numbers.push_back(std::stoul(part));
        gguf_set_arr_data(keys, key.c_str(), GGUF_TYPE_UINT32, numbers.data(), numbers.size());
    } else if (value == "yes" || value == "no") {
        gguf_set_val_bool(keys, key.c_str(), value == "yes");
    } else if (value.find('.') != std::string::npos) {
        gguf_set_val_f32(keys, key.c_str(), std::stof(value));
    } else {
        gguf_set_val_u32(keys, key.c_str(), std::stoul(value));
    }
}

static int tiny(const char * name, bool moe, const char * out, const std::vector<std::string> & others) {
    gguf_context_ptr keys = get_gguf_ctx(llm_arch_from_string(name), moe);
    for (const std::string & other : others) set_key(keys.get(), other);
    return write_with_tensors(keys.get(), true, out);
}

static int header(const char * path, const char * out) {
    gguf_init_params params = { true, nullptr };
    gguf_context_ptr keys(gguf_init_from_file(path, params));
    return write_with_tensors(keys.get(), false, out);
}

int main(int argc, char ** argv) {
    llama_log_set(keep_errors, nullptr);
    const std::string mode = argc > 1 ? argv[1] : "";
    try {
        if (mode == "names") {
            for (const llm_arch & arch : llm_arch_all()) {
                printf("%s %d %d\n", llm_arch_name(arch), (int) moe_mandatory(arch), (int) moe_implemented(arch));
            }
            return 0;
        }
        if (mode == "tiny" && argc >= 5) {
            return tiny(argv[2], std::string(argv[3]) == "1", argv[4], { argv + 5, argv + argc });
        }
        if (mode == "header" && argc == 4) return header(argv[2], argv[3]);
        if ((mode == "run" || mode == "plan") && argc > 2) {
            llama_model_params params = llama_model_default_params();
            params.no_alloc = mode == "plan";
            params.load_mode = LLAMA_LOAD_MODE_NONE;
            llama_model * model = llama_model_load_from_file(argv[2], params);
            if (!model) {
                printf("{\"refused\": %s}\n", as_json(g_last_error).c_str());
                return 1;
            }
            printf("{\"loaded\": true}\n");
            fflush(stdout);
            for (int i = 3; i < argc; i++) run_setting(model, argv[i]);
            return 0;
        }
    } catch (const std::exception & error) {
        printf("{\"refused\": %s}\n", as_json(error.what()).c_str());
        return 1;
    }
    return 2;
}
