//! `#[dependency]`: the sum of the partitions of a module, and its registration.
//!
//! The values stand beside the module, in the scope of the attribute: there they mean what the user sees,
//! also in the body of a function. Of the module they need its partitions, private ones too; one hidden
//! constant hands those out.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};

use crate::args::{Args, Slot, default_runtime};
use crate::fallback;
use crate::keys::{Attribute, Key};
use crate::list;
use crate::module::{self, Member, Module};
use crate::policy::{bind, constant, constant_or, number, rule};
use crate::span::Ends;

pub(crate) fn dependency(tokens: TokenStream, item: &TokenStream) -> TokenStream {
    let (mut args, mut errors) = list::read(Attribute::Dependency, tokens);
    let module = match Module::parse(item.clone()) {
        Ok(module) => module,
        Err(error) => {
            errors.push(error);
            return fallback::beside(item, &errors);
        }
    };
    errors.extend(args.missing(Attribute::Dependency, Span::call_site()));
    errors.extend(module.refused.iter().cloned());
    let runtime = args.runtime().unwrap_or_else(default_runtime);
    let dependency = Dependency {
        args: &args,
        module: &module,
        runtime: &runtime,
    };
    let (module, beside) = (module.with(dependency.hands_out()), dependency.declared());
    fallback::beside(&quote!(#module #beside), &errors)
}

struct Dependency<'a> {
    args: &'a Args,
    module: &'a Module,
    runtime: &'a TokenStream,
}

impl Dependency<'_> {
    /// In the module: its partitions, for the scope around it.
    ///
    /// With `crate = …` the type is spelled as the user spells it there, because that path may begin in the scope
    /// of the attribute.
    fn hands_out(&self) -> Option<TokenStream> {
        let members = &self.module.partitions;
        let always = members.iter().find(|member| member.cfgs.is_empty());
        let spelled = always.or(members.first())?.ty.to_token_stream();
        let ty = if self.args.has_default_runtime() {
            let runtime = self.runtime;
            quote_spanned!(Span::mixed_site()=> #runtime::Partition)
        } else {
            spelled
        };
        let elements = members
            .iter()
            .map(|Member { name, cfgs, .. }| quote_spanned!(Span::mixed_site()=> #cfgs &#name,));
        Some(quote_spanned! {Span::mixed_site()=>
            #[doc(hidden)]
            pub(super) const __BULKHEAD_PARTITIONS: &[&#ty] = &[#(#elements)*];
        })
    }

    fn partitions(&self) -> TokenStream {
        if self.module.partitions.is_empty() {
            return quote!(&[]);
        }
        let module = &self.module.name;
        quote_spanned!(Span::mixed_site()=> #module::__BULKHEAD_PARTITIONS)
    }

    /// Beside the module: each value bound once, each rule called once, and the registration.
    fn declared(&self) -> TokenStream {
        let Args {
            capacity,
            spare,
            replicas,
            ..
        } = self.args;
        let constants = [
            bind(Key::Capacity, capacity, &number()),
            bind(Key::Spare, spare, &number()),
            bind(Key::Replicas, replicas, &number()),
        ];
        let rules = [
            self.about(capacity, "capacity", constant(Key::Capacity)),
            self.about_spare(),
            self.about(replicas, "replicas", constant(Key::Replicas)),
            self.about_names(),
            self.about_sum(),
        ];
        let (cfgs, registration) = (&self.module.cfgs, self.registration());
        quote_spanned! {Span::mixed_site()=>
            #cfgs
            const _: () = {
                #(#constants)*
                #(#rules)*
                #registration
            };
        }
    }

    fn about(&self, slot: &Slot, name: &str, arguments: TokenStream) -> TokenStream {
        slot.value().map_or_else(TokenStream::new, |value| {
            rule(self.runtime, value.ends, name, arguments)
        })
    }

    /// A capacity that could not be read is not held against it.
    fn about_spare(&self) -> TokenStream {
        if self.args.capacity.value().is_none() {
            return TokenStream::new();
        }
        let (capacity, spare) = (constant(Key::Capacity), constant(Key::Spare));
        self.about(&self.args.spare, "spare", quote!(#capacity, #spare))
    }

    /// Each under the name of its static, against those before it.
    fn about_names(&self) -> TokenStream {
        let (members, partitions) = (&self.module.partitions, self.partitions());
        let rules = members.iter().enumerate().skip(1).map(|(i, later)| {
            let before = members[..i].iter().map(|earlier| {
                let cfgs = &earlier.cfgs;
                quote_spanned!(Span::mixed_site()=> #cfgs (),)
            });
            let arguments = quote_spanned!(Span::mixed_site()=> #partitions, &[#(#before)*]);
            let cfgs = &later.cfgs;
            let rule = rule(
                self.runtime,
                Ends::at(later.name.span()),
                "distinct",
                arguments,
            );
            quote!(#cfgs #rule)
        });
        rules.collect()
    }

    /// What could not be read is not added up.
    fn about_sum(&self) -> TokenStream {
        let spare = match self.args.spare {
            Slot::Absent => quote!(0),
            Slot::Unreadable => return TokenStream::new(),
            Slot::Given(_) => constant(Key::Spare),
        };
        if self.args.replicas.value().is_none() {
            return TokenStream::new();
        }
        let (name, partitions) = (self.name(), self.partitions());
        let (capacity, replicas) = (constant(Key::Capacity), constant(Key::Replicas));
        let arguments = quote!(#name, #capacity, #spare, #replicas, #partitions);
        self.about(&self.args.capacity, "sum", arguments)
    }

    fn registration(&self) -> TokenStream {
        let (runtime, name, partitions) = (self.runtime, self.name(), self.partitions());
        let number = |slot, key| constant_or(slot, key, quote!(0));
        let capacity = number(&self.args.capacity, Key::Capacity);
        let spare = number(&self.args.spare, Key::Spare);
        let replicas = number(&self.args.replicas, Key::Replicas);
        quote_spanned! {Span::mixed_site()=>
            static __BULKHEAD_DEPENDENCY: #runtime::Dependency = #runtime::__private::dependency(
                #runtime::__private::DeclaredDependency {
                    name: #name,
                    module: ::core::module_path!(),
                    file: ::core::file!(),
                    line: ::core::line!(),
                    capacity: #capacity,
                    spare: #spare,
                    replicas: #replicas,
                    partitions: #partitions,
                },
            );
            #runtime::__private::inventory::submit! {
                #runtime::__private::DependencyRegistration::new(&__BULKHEAD_DEPENDENCY)
            }
        }
    }

    fn name(&self) -> Literal {
        Literal::string(&module::text_of(&self.module.name))
    }
}
