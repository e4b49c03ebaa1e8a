// libprotobuf's dynamic messages for C. See protobuf_shim.h; every entry catches what the library or the language may throw.
#include "protobuf_shim.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/unknown_field_set.h>

#include <cstring>
#include <new>
#include <string>
#include <vector>

namespace pb = google::protobuf;

struct proto_set {
	pb::FileDescriptorSet files;
	pb::DescriptorPool pool;
	pb::DynamicMessageFactory factory;
};

namespace
{

const pb::Descriptor *
descriptor_of(const proto_type *type)
{
	return reinterpret_cast<const pb::Descriptor *>(type);
}

const pb::EnumDescriptor *
descriptor_of(const proto_enum *symbols)
{
	return reinterpret_cast<const pb::EnumDescriptor *>(symbols);
}

const pb::FieldDescriptor *
descriptor_of(const proto_field *field)
{
	return reinterpret_cast<const pb::FieldDescriptor *>(field->handle);
}

const pb::Message &
message_of(const proto_message *message)
{
	return *reinterpret_cast<const pb::Message *>(message);
}

pb::Message *
message_of(proto_message *message)
{
	return reinterpret_cast<pb::Message *>(message);
}

proto_text
text_of(const std::string &text)
{
	return { text.data(), text.size() };
}

void
copy_text(const std::string &from, char *to, uint64_t size)
{
	uint64_t length = from.size() < size ? from.size() : size - 1;
	std::memcpy(to, from.data(), length);
	to[length] = '\0';
}

// What the library says about malformed messages goes into record errors, not to the process's error stream.
void
say_nothing(pb::LogLevel, const char *, int, const std::string &)
{
}

class problem_collector : public pb::DescriptorPool::ErrorCollector
{
  public:
	std::string text;

	void
	AddError(const std::string &file, const std::string &element, const pb::Message *, ErrorLocation,
			 const std::string &message) override
	{
		if (text.empty())
			text = file + ": " + element + ": " + message;
	}
};

// Builds a file behind those that it imports. Files of the library itself need not be in the set.
bool
build_file(proto_set *set, const std::string &name, int depth, problem_collector *problems)
{
	if (set->pool.FindFileByName(name) != nullptr)
		return true;
	const pb::FileDescriptorProto *found = nullptr;
	for (const auto &file : set->files.file())
		if (file.name() == name)
			found = &file;
	pb::FileDescriptorProto own;
	if (found == nullptr) {
		const pb::FileDescriptor *known = pb::DescriptorPool::generated_pool()->FindFileByName(name);
		if (known == nullptr) {
			problems->text =
				"the file " + name + ", which is imported, is not in it; make it with protoc --include_imports";
			return false;
		}
		known->CopyTo(&own);
		found = &own;
	}
	if (depth > 200) {
		problems->text = "the file " + name + " imports itself";
		return false;
	}
	for (const auto &import : found->dependency())
		if (!build_file(set, import, depth + 1, problems))
			return false;
	return set->pool.BuildFileCollectingErrors(*found, problems) != nullptr;
}

void
add_names(const pb::Descriptor *type, std::string *text)
{
	if (type->options().map_entry())
		return;
	text->append(text->empty() ? "" : " ").append(type->full_name());
	for (int i = 0; i < type->nested_type_count(); i++)
		add_names(type->nested_type(i), text);
}

uint8_t
kind_of(const pb::FieldDescriptor *field)
{
	switch (field->cpp_type()) {
	case pb::FieldDescriptor::CPPTYPE_BOOL:
		return PROTO_BOOL;
	case pb::FieldDescriptor::CPPTYPE_INT32:
		return PROTO_INT32;
	case pb::FieldDescriptor::CPPTYPE_INT64:
		return PROTO_INT64;
	case pb::FieldDescriptor::CPPTYPE_UINT32:
		return PROTO_UINT32;
	case pb::FieldDescriptor::CPPTYPE_UINT64:
		return PROTO_UINT64;
	case pb::FieldDescriptor::CPPTYPE_FLOAT:
		return PROTO_FLOAT;
	case pb::FieldDescriptor::CPPTYPE_DOUBLE:
		return PROTO_DOUBLE;
	case pb::FieldDescriptor::CPPTYPE_ENUM:
		return PROTO_ENUM;
	case pb::FieldDescriptor::CPPTYPE_MESSAGE:
		return PROTO_MESSAGE;
	default:
		return field->type() == pb::FieldDescriptor::TYPE_BYTES ? PROTO_BYTES : PROTO_STRING;
	}
}

template <typename Function>
int
guarded(Function function)
{
	try {
		return function();
	} catch (const std::bad_alloc &) {
		return PROTO_NO_MEMORY;
	} catch (...) {
		return PROTO_MALFORMED;
	}
}

proto_text
get_text(const pb::Reflection *reflection, const pb::Message &message, const pb::FieldDescriptor *field, int64_t index)
{
	std::string unused; // only for fields that are not kept as strings, which dynamic messages do not have
	return text_of(index < 0
					   ? reflection->GetStringReference(message, field, &unused)
					   : reflection->GetRepeatedStringReference(message, field, static_cast<int>(index), &unused));
}

void
get_one(const pb::Reflection *reflection, const pb::Message &message, const pb::FieldDescriptor *field,
		proto_value *value)
{
	switch (kind_of(field)) {
	case PROTO_BOOL:
		value->int64 = reflection->GetBool(message, field);
		break;
	case PROTO_INT32:
		value->int64 = reflection->GetInt32(message, field);
		break;
	case PROTO_INT64:
		value->int64 = reflection->GetInt64(message, field);
		break;
	case PROTO_UINT32:
		value->uint64 = reflection->GetUInt32(message, field);
		break;
	case PROTO_UINT64:
		value->uint64 = reflection->GetUInt64(message, field);
		break;
	case PROTO_FLOAT:
		value->number = static_cast<double>(reflection->GetFloat(message, field));
		break;
	case PROTO_DOUBLE:
		value->number = reflection->GetDouble(message, field);
		break;
	case PROTO_ENUM:
		value->int64 = reflection->GetEnumValue(message, field);
		break;
	case PROTO_MESSAGE:
		value->message =
			reinterpret_cast<proto_message *>(const_cast<pb::Message *>(&reflection->GetMessage(message, field)));
		break;
	default:
		value->text = get_text(reflection, message, field, -1);
		break;
	}
}

void
get_item(const pb::Reflection *reflection, const pb::Message &message, const pb::FieldDescriptor *field, int index,
		 proto_value *value)
{
	switch (kind_of(field)) {
	case PROTO_BOOL:
		value->int64 = reflection->GetRepeatedBool(message, field, index);
		break;
	case PROTO_INT32:
		value->int64 = reflection->GetRepeatedInt32(message, field, index);
		break;
	case PROTO_INT64:
		value->int64 = reflection->GetRepeatedInt64(message, field, index);
		break;
	case PROTO_UINT32:
		value->uint64 = reflection->GetRepeatedUInt32(message, field, index);
		break;
	case PROTO_UINT64:
		value->uint64 = reflection->GetRepeatedUInt64(message, field, index);
		break;
	case PROTO_FLOAT:
		value->number = static_cast<double>(reflection->GetRepeatedFloat(message, field, index));
		break;
	case PROTO_DOUBLE:
		value->number = reflection->GetRepeatedDouble(message, field, index);
		break;
	case PROTO_ENUM:
		value->int64 = reflection->GetRepeatedEnumValue(message, field, index);
		break;
	case PROTO_MESSAGE:
		value->message = reinterpret_cast<proto_message *>(
			const_cast<pb::Message *>(&reflection->GetRepeatedMessage(message, field, index)));
		break;
	default:
		value->text = get_text(reflection, message, field, index);
		break;
	}
}

void
put_one(const pb::Reflection *reflection, pb::Message *message, const pb::FieldDescriptor *field, proto_value *value)
{
	switch (kind_of(field)) {
	case PROTO_BOOL:
		reflection->SetBool(message, field, value->int64 != 0);
		break;
	case PROTO_INT32:
		reflection->SetInt32(message, field, static_cast<int32_t>(value->int64));
		break;
	case PROTO_INT64:
		reflection->SetInt64(message, field, value->int64);
		break;
	case PROTO_UINT32:
		reflection->SetUInt32(message, field, static_cast<uint32_t>(value->uint64));
		break;
	case PROTO_UINT64:
		reflection->SetUInt64(message, field, value->uint64);
		break;
	case PROTO_FLOAT:
		reflection->SetFloat(message, field, static_cast<float>(value->number));
		break;
	case PROTO_DOUBLE:
		reflection->SetDouble(message, field, value->number);
		break;
	case PROTO_ENUM:
		reflection->SetEnumValue(message, field, static_cast<int>(value->int64));
		break;
	case PROTO_MESSAGE:
		value->message = reinterpret_cast<proto_message *>(reflection->MutableMessage(message, field));
		break;
	default:
		reflection->SetString(message, field, std::string(value->text.data, value->text.size));
		break;
	}
}

void
put_item(const pb::Reflection *reflection, pb::Message *message, const pb::FieldDescriptor *field, proto_value *value)
{
	switch (kind_of(field)) {
	case PROTO_BOOL:
		reflection->AddBool(message, field, value->int64 != 0);
		break;
	case PROTO_INT32:
		reflection->AddInt32(message, field, static_cast<int32_t>(value->int64));
		break;
	case PROTO_INT64:
		reflection->AddInt64(message, field, value->int64);
		break;
	case PROTO_UINT32:
		reflection->AddUInt32(message, field, static_cast<uint32_t>(value->uint64));
		break;
	case PROTO_UINT64:
		reflection->AddUInt64(message, field, value->uint64);
		break;
	case PROTO_FLOAT:
		reflection->AddFloat(message, field, static_cast<float>(value->number));
		break;
	case PROTO_DOUBLE:
		reflection->AddDouble(message, field, value->number);
		break;
	case PROTO_ENUM:
		reflection->AddEnumValue(message, field, static_cast<int>(value->int64));
		break;
	case PROTO_MESSAGE:
		value->message = reinterpret_cast<proto_message *>(reflection->AddMessage(message, field));
		break;
	default:
		reflection->AddString(message, field, std::string(value->text.data, value->text.size));
		break;
	}
}

} // namespace

extern "C" {

int
proto_set_open(const char *bytes, uint64_t size, proto_set **set, char *problem, uint64_t problem_size)
{
	proto_set *made = nullptr;
	int status = guarded([&] {
		pb::SetLogHandler(say_nothing);
		pb::Timestamp::descriptor(); // so that the library's own file is known
		made = new proto_set;
		problem_collector problems;
		if (size > INT32_MAX || !made->files.ParseFromArray(bytes, static_cast<int>(size)) ||
			made->files.file_size() == 0)
			problems.text = "it is no FileDescriptorSet (protoc --descriptor_set_out makes one)";
		for (const auto &file : made->files.file()) {
			if (!problems.text.empty())
				break;
			if (!build_file(made, file.name(), 0, &problems) && problems.text.empty())
				problems.text = file.name() + " is not valid";
		}
		copy_text(problems.text, problem, problem_size);
		return problems.text.empty() ? PROTO_OK : PROTO_MALFORMED;
	});
	if (status != PROTO_OK)
		delete made;
	else
		*set = made;
	return status;
}

void
proto_set_close(proto_set *set)
{
	delete set;
}

const proto_type *
proto_find(const proto_set *set, const char *name)
{
	const pb::Descriptor *found = nullptr;
	guarded([&] {
		found = set->pool.FindMessageTypeByName(name);
		return PROTO_OK;
	});
	return reinterpret_cast<const proto_type *>(found);
}

void
proto_names(const proto_set *set, char *text, uint64_t size)
{
	text[0] = '\0';
	guarded([&] {
		std::string names;
		for (const auto &file : set->files.file()) {
			const pb::FileDescriptor *built = set->pool.FindFileByName(file.name());
			for (int i = 0; built != nullptr && i < built->message_type_count(); i++)
				add_names(built->message_type(i), &names);
		}
		copy_text(names, text, size);
		return PROTO_OK;
	});
}

proto_text
proto_type_name(const proto_type *type)
{
	return text_of(descriptor_of(type)->full_name());
}

uint32_t
proto_field_count(const proto_type *type)
{
	return static_cast<uint32_t>(descriptor_of(type)->field_count());
}

void
proto_describe(const proto_type *type, uint32_t index, proto_field *field)
{
	const pb::FieldDescriptor *from = descriptor_of(type)->field(static_cast<int>(index));
	*field = proto_field();
	field->handle = reinterpret_cast<const proto_handle *>(from);
	field->name = text_of(from->name());
	field->kind = kind_of(from);
	field->repeated = from->is_repeated();
	field->map = from->is_map();
	field->required = from->is_required();
	field->presence = from->has_presence();
	field->open = from->file()->syntax() == pb::FileDescriptor::SYNTAX_PROTO3;
	const pb::OneofDescriptor *oneof = from->real_containing_oneof();
	field->oneof = oneof == nullptr ? -1 : oneof->index();
	field->message = reinterpret_cast<const proto_type *>(from->message_type());
	field->symbols = reinterpret_cast<const proto_enum *>(from->enum_type());
}

proto_text
proto_enum_name(const proto_enum *symbols)
{
	return text_of(descriptor_of(symbols)->full_name());
}

uint32_t
proto_symbol_count(const proto_enum *symbols)
{
	return static_cast<uint32_t>(descriptor_of(symbols)->value_count());
}

proto_text
proto_symbol(const proto_enum *symbols, uint32_t index, int32_t *number)
{
	const pb::EnumValueDescriptor *value = descriptor_of(symbols)->value(static_cast<int>(index));
	*number = value->number();
	return text_of(value->name());
}

proto_message *
proto_message_new(proto_set *set, const proto_type *type)
{
	pb::Message *made = nullptr;
	guarded([&] {
		made = set->factory.GetPrototype(descriptor_of(type))->New();
		return PROTO_OK;
	});
	return reinterpret_cast<proto_message *>(made);
}

void
proto_message_free(proto_message *message)
{
	delete message_of(message);
}

int
proto_clear(proto_message *message)
{
	return guarded([&] {
		message_of(message)->Clear();
		return PROTO_OK;
	});
}

int
proto_parse(proto_message *message, const char *data, uint64_t size, int depth)
{
	return guarded([&] {
		if (size > INT32_MAX)
			return PROTO_MALFORMED;
		pb::io::CodedInputStream input(reinterpret_cast<const uint8_t *>(data), static_cast<int>(size));
		input.SetRecursionLimit(depth);
		message_of(message)->Clear();
		return message_of(message)->MergePartialFromCodedStream(&input) && input.ConsumedEntireMessage()
				   ? PROTO_OK
				   : PROTO_MALFORMED;
	});
}

int
proto_missing(const proto_message *message, char *text, uint64_t size)
{
	text[0] = '\0';
	if (message_of(message).IsInitialized())
		return 0;
	guarded([&] {
		copy_text(message_of(message).InitializationErrorString(), text, size);
		return PROTO_OK;
	});
	return 1;
}

int
proto_has_unknown(const proto_message *message)
{
	const pb::Message &m = message_of(message);
	return !m.GetReflection()->GetUnknownFields(m).empty();
}

int
proto_has(const proto_message *message, const proto_field *field)
{
	const pb::Message &m = message_of(message);
	return m.GetReflection()->HasField(m, descriptor_of(field));
}

uint64_t
proto_count(const proto_message *message, const proto_field *field)
{
	const pb::Message &m = message_of(message);
	return static_cast<uint64_t>(m.GetReflection()->FieldSize(m, descriptor_of(field)));
}

int
proto_get(const proto_message *message, const proto_field *field, int64_t index, proto_value *value)
{
	return guarded([&] {
		const pb::Message &m = message_of(message);
		if (index < 0)
			get_one(m.GetReflection(), m, descriptor_of(field), value);
		else
			get_item(m.GetReflection(), m, descriptor_of(field), static_cast<int>(index), value);
		return PROTO_OK;
	});
}

int
proto_put(proto_message *message, const proto_field *field, proto_value *value)
{
	return guarded([&] {
		pb::Message *m = message_of(message);
		if (field->repeated)
			put_item(m->GetReflection(), m, descriptor_of(field), value);
		else
			put_one(m->GetReflection(), m, descriptor_of(field), value);
		return PROTO_OK;
	});
}

int
proto_size(const proto_message *message, uint64_t *size)
{
	return guarded([&] {
		*size = message_of(message).ByteSizeLong();
		return *size > INT32_MAX ? PROTO_MALFORMED : PROTO_OK;
	});
}

int
proto_write(const proto_message *message, char *to, uint64_t size)
{
	return guarded([&] {
		auto *start = reinterpret_cast<uint8_t *>(to);
		return message_of(message).SerializeWithCachedSizesToArray(start) == start + size ? PROTO_OK : PROTO_MALFORMED;
	});
}
}
